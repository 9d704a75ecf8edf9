/// How a dump is written.
package enum DumpFormat: String, CaseIterable, Sendable {
    /// Aligned columns under a header, for people.
    case table
    /// One array of objects, a row a line.
    case json
    /// An object a line.
    case ndjson
    /// RFC 4180: a header, CRLF, quotes where they are needed.
    case csv
}
