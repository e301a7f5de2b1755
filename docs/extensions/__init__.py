"""What the documentation is built with: MathML, pages made from the code, figures of the
gallery.
"""
