package referee

import "embed"

// JavaNeeds is pom.xml, which names what the Java program needs.
//
//go:embed pom.xml
var JavaNeeds embed.FS

// Java is the program's source.
//
//go:embed src
var Java embed.FS

// Python is reader.py and the requirements.txt that it needs.
//
//go:embed reader.py requirements.txt
var Python embed.FS
