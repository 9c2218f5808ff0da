"""What leaves a project that has few labels, and how much of it is right."""
