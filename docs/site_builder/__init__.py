"""What the site is made of that is not written by hand."""
