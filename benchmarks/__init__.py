"""Speed, side by side: each module's `rows()` measures ours and a peer or a limit in one run."""
