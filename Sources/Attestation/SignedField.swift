/// One field of a signed text, with its value as it was signed.
package struct SignedField: Sendable, Equatable {
    /// The field's name in the vendor's format.
    package let name: String
    /// The value as it was signed; nil when the layout needs the field and it is absent.
    package let value: String?

    /// A field as it is.
    package init(name: String, value: String?) {
        self.name = name
        self.value = value
    }
}
