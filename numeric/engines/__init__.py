"""What carries out tasks: processes of this machine, or workers of a dask cluster, behind one
interface.
"""
