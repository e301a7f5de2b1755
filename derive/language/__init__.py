"""What a model is, the symbols it is written in, and what a pass gives back."""
