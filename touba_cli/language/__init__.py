"""The compiler: text → tokens → layout → tree → names → types → flow → AIR. One pass, one file."""
