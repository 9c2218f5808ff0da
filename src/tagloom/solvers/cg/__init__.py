"""Block conjugate gradients: many right-hand sides with one matrix."""
