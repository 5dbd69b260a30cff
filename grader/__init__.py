"""The grading side: reads submissions, runs them in a sandbox, and reports what they earned."""
