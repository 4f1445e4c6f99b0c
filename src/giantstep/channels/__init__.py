"""What a label says of the directions: log Z, g_out and its derivative, moments of h given y."""
