"""What a project says, beside what is true: numbers that a person is shown, compared with hidden tags."""
