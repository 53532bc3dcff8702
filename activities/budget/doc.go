// Package budget shares the memory of a worker between the readers and writers that work in it at the same time.
//
// Each job says how much of a worker it may take (run.memory) and the worker how much it has (--memory); what is at work
// may hold the sum of the first, at most the second. Whoever works has a [Share] and an equal part of that, its limit, and
// goes by it: the limit shrinks when others come, and when one of them takes memory for a row that is larger than any part.
//
// It counts what it is told, and sees to it that rows of any size wait for each other rather than fill the machine. It is no
// allocator and does not know what the bytes are for. The garbage collector is told the sum, so that the process keeps to it.
package budget
