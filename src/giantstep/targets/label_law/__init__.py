"""What a target's labels say about its directions: moments of h given y."""
