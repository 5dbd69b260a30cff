"""Reports: each a pure function of `SubmissionResult`s, in the format of one reader."""
