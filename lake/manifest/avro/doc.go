// Package avro reads and writes the Avro object container files that hold Paimon's metadata.
//
// It is a small codec of our own on purpose. What Paimon needs of Avro is little: records, unions with null, arrays,
// integers, strings and bytes. The general library for Go (hamba/avro) decodes by reflection and has open advisories
// about memory that hostile input makes it take, without a fixed release. Here every length is checked against the
// bytes that are left before anything is allocated, decompressed blocks and schemas are bounded, and a [Decoder] never
// recurses deeper than a fixed limit; so a manifest of a few bytes cannot ask for gigabytes.
//
// Writing emits what Java emits: the schema text as given, one union branch order (null first), arrays as one block
// without a byte size. Reading goes by the writer's schema that the file itself carries: fields are found by name, what
// is unknown is skipped. Codecs null, deflate, snappy and zstandard are read.
//
// It is not a general Avro library: no schema resolution beyond that, no aliases or defaults, no RPC, no single-object
// encoding.
//
// It must agree with the Avro 1.11 specification, "Object Container Files", and with org.apache.paimon.format.avro.
package avro
