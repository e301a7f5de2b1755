"""What is known about generated code: it is its source, it meets stored values, it errs by no more than its bound."""
