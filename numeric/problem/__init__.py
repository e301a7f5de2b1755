"""Values: what is asked, and what is answered."""
