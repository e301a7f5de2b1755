"""What message passing does step by step in high dimensions: state evolution."""
