"""What samples seen one at a time teach the first layer: equations of motion, exit times."""
