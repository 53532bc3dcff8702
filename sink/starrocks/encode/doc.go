// Package encode turns row batches into the bodies of StarRocks' Stream Load: CSV, and JSON for what CSV cannot carry. It sends
// nothing.
//
// Invariant: what StarRocks reads from a body is the value that was in the batch, or the row is refused here by an [UncarriedError].
//
// CSV is written for the reader that StarRocks uses when no enclose and no escape character is set: it cuts rows and fields
// at separators of two control characters each, takes all between them as it is, and a field of \N for NULL. So a string
// that is \N, or holds a separator, cannot be written, nor a row without a single byte, which is skipped as a blank line. With
// an escape character, \N would be read as N by that reader's other half, and an enclosed \N is NULL too.
// Binary is base64, which the CSV reader decodes itself; in JSON it goes through to_binary.
// DATETIME has no time zone: a TIMESTAMP WITH LOCAL TIME ZONE is written as its UTC.
//
// It must agree with StarRocks' csv_reader.cpp, nullable_converter.cpp, varbinary_converter.cpp, Delimiter.java and the
// STREAM LOAD page of its manual.
package encode
