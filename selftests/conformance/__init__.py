"""Code that the field runs, graded like a student's: read from an installed package at test time, copied nowhere."""
