"""What every study of training uses: runs, data, minimisation, theory next to training, scores,
output.
"""
