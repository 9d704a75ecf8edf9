/// Reads the headers of records that another library keeps.
package protocol ForeignHeaders {
    /// True when a record has no header.
    static func isEmpty(_ record: UnsafeMutableRawPointer) -> Bool

    /// Calls `body` with each name and value in order, until it returns false. The bytes are valid as
    /// long as the record.
    static func forEach(
        _ record: UnsafeMutableRawPointer,
        _ body: (_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) -> Bool
    )

    /// The value of the first header of that name; nil when there is none or its value is null.
    static func first(
        _ record: UnsafeMutableRawPointer, named name: StaticString
    ) -> UnsafeRawBufferPointer?
}
