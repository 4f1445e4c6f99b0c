"""What structured inputs do: spikes in their covariance, gradient flows, anisotropic parities."""
