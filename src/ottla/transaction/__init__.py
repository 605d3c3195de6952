"""The transaction coordinator: who may write as whom, and how transactions end."""
