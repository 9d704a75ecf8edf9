import JSON

/// Reads the fields of a record and keeps the reason for rejecting the whole record that is first in the contract's
/// order. Reading continues after a fault, so that a later field's graver fault is found.
///
/// A member with the value null is missing.
struct FieldFaults {
    private var reason: RejectionReason?
    private var field: StaticString = ""
    private var detail: StaticString = ""

    var rejection: Rejection? {
        reason.map { Rejection($0, "\(field) \(detail)") }
    }

    mutating func report(_ reason: RejectionReason, _ field: StaticString, _ detail: StaticString) {
        if let known = self.reason, known <= reason { return }
        self.reason = reason
        self.field = field
        self.detail = detail
    }

    @inline(__always)
    mutating func optionalText(
        _ object: JSONValue, _ name: StaticString, field: StaticString? = nil
    ) -> UnsafeRawBufferPointer? {
        text(object.member(name), field ?? name)
    }

    @inline(__always)
    mutating func text(_ value: JSONValue?, _ field: StaticString) -> UnsafeRawBufferPointer? {
        guard let value else { return nil }
        guard let text = value.string else {
            report(.wrongType, field, "is not a string")
            return nil
        }
        return text
    }

    /// The symbol of an optional name, which may be a whole number; empty if missing.
    mutating func name(
        _ value: JSONValue?, _ field: StaticString, _ symbols: inout SymbolTable
    ) -> Symbol {
        guard let value else { return .empty }
        if let text = value.string { return symbols.intern(text) }
        guard let number = value.number else {
            report(.wrongType, field, "is neither a string nor a number")
            return .empty
        }
        return integer(number, field).map { symbols.intern(decimal: $0) } ?? .empty
    }

    /// A required text id; an empty one is missing.
    @inline(__always)
    mutating func requiredID(
        _ object: JSONValue, _ name: StaticString, field: StaticString? = nil
    ) -> UnsafeRawBufferPointer {
        requiredID(object.member(name), field ?? name)
    }

    /// A required member with a text id; an empty one is missing.
    @inline(__always)
    mutating func requiredID(_ value: JSONValue?, _ field: StaticString) -> UnsafeRawBufferPointer {
        guard let value else { return missing(field) }
        guard let text = value.string else {
            report(.wrongType, field, "is not a string")
            return Self.noText
        }
        return text.isEmpty ? missing(field) : text
    }

    /// A required member from a closed list of words; returns the word's index.
    @inline(__always)
    mutating func requiredWord<let count: Int>(
        _ value: JSONValue?, _ field: StaticString, of detail: InlineArray<count, StaticString>
    ) -> Int? {
        guard let value else {
            _ = missing(field)
            return nil
        }
        guard let text = text(value, field) else { return nil }
        for place in 0..<count where text.equals(detail[place]) { return place }
        report(.outOfRange, field, "is not one of the allowed words")
        return nil
    }

    /// An optional whole number; a string has the wrong type.
    @inline(__always)
    mutating func optionalInteger(
        _ object: JSONValue, _ name: StaticString, field: StaticString? = nil
    ) -> Int64? {
        integer(object.member(name), field ?? name)
    }

    @inline(__always)
    mutating func integer(_ value: JSONValue?, _ field: StaticString) -> Int64? {
        guard let value else { return nil }
        guard let number = value.number else {
            report(.wrongType, field, "is not a number")
            return nil
        }
        return integer(number, field)
    }

    /// A required member with a whole number; 0 if faulty.
    @inline(__always)
    mutating func requiredInteger(_ value: JSONValue?, _ field: StaticString) -> Int64 {
        if value == nil { _ = missing(field) }
        return integer(value, field) ?? 0
    }

    /// A whole number from 0 that identifies something, as a JSON number or a string of digits. Nil if missing or an
    /// empty string.
    @inline(__always)
    mutating func optionalIdentifier(
        _ object: JSONValue, _ name: StaticString, field: StaticString? = nil
    ) -> Int64? {
        identifier(object.member(name), field ?? name)
    }

    @inline(__always)
    mutating func identifier(_ value: JSONValue?, _ field: StaticString) -> Int64? {
        guard let value else { return nil }
        if let number = value.number { return identifier(number, field) }
        return digits(value, field)
    }

    /// An instant in milliseconds since 1970, as a JSON number or a string of digits. Nil if missing or an empty
    /// string.
    mutating func optionalInstant(_ object: JSONValue, _ name: StaticString) -> Int64? {
        guard let value = object.member(name) else { return nil }
        if let number = value.number { return integer(number, name) }
        return digits(value, name)
    }

    @inline(__always)
    private mutating func digits(_ value: JSONValue, _ field: StaticString) -> Int64? {
        guard let text = value.string else {
            report(
                .wrongType, field,
                value.isObject
                    ? "is an object, and not a number or a string of digits"
                    : value.isArray
                        ? "is an array, and not a number or a string of digits"
                        : "is true or false, and not a number or a string of digits")
            return nil
        }
        if text.isEmpty { return nil }
        switch Digits(text) {
        case .number(let number): return number
        case .beyondInt64:
            report(.outOfRange, field, "is beyond 64 bits")
        case .notDigits:
            report(.wrongType, field, "is a string that contains other characters than digits")
        }
        return nil
    }

    /// Reports a value other than a number or a text.
    mutating func reportNoNumberOrText(_ value: JSONValue, _ field: StaticString) {
        report(
            .wrongType, field,
            value.isObject
                ? "is an object, and not a number or a string"
                : value.isArray
                    ? "is an array, and not a number or a string"
                    : "is true or false, and not a number or a string")
    }

    /// A required member with an identifier as in `optionalIdentifier`; 0 if faulty.
    @inline(__always)
    mutating func requiredIdentifier(_ value: JSONValue?, _ field: StaticString) -> Int64 {
        if value == nil || value?.string?.isEmpty == true { _ = missing(field) }
        return identifier(value, field) ?? 0
    }

    @inline(__always)
    mutating func boolean(_ value: JSONValue?, _ field: StaticString) -> Bool? {
        guard let value else { return nil }
        guard let boolean = value.boolean else {
            report(.wrongType, field, "is neither true nor false")
            return nil
        }
        return boolean
    }

    /// A flag: true or false, or the number 1 or 0.
    @inline(__always)
    mutating func flag(_ value: JSONValue?, _ field: StaticString) -> Bool? {
        guard let value else { return nil }
        guard let flag = value.flag else {
            report(.wrongType, field, "is not true, false, 1 or 0")
            return nil
        }
        return flag
    }

    @inline(__always)
    mutating func object(_ value: JSONValue?, _ field: StaticString) -> JSONValue? {
        guard let value else { return nil }
        guard value.isObject else {
            report(.wrongType, field, "is not an object")
            return nil
        }
        return value
    }

    @inline(__always)
    mutating func requiredObject(_ value: JSONValue?, _ field: StaticString) -> JSONValue? {
        if value == nil { _ = missing(field) }
        return object(value, field)
    }

    /// The elements of an array; empty if missing.
    @inline(__always)
    mutating func array(
        _ object: JSONValue, _ name: StaticString, field: StaticString? = nil
    ) -> JSONElements {
        array(object.member(name), of: object, field ?? name)
    }

    /// The elements of an object's member; empty if missing.
    @inline(__always)
    mutating func array(
        _ value: JSONValue?, of object: JSONValue, _ field: StaticString
    ) -> JSONElements {
        // An object has no elements, so it replaces the missing array.
        guard let value else { return object.elements }
        if !value.isArray { report(.wrongType, field, "is not an array") }
        return value.elements
    }

    /// An optional price, which must be valid, in millionths of the unit; nil if missing.
    @inline(__always)
    mutating func priceMicros(_ value: JSONValue?, _ field: StaticString) -> Int64? {
        guard let value else { return nil }
        if value.number == nil {
            report(.wrongType, field, "is not a number")
            return nil
        }
        if let price = value.priceMicros { return price }
        report(.outOfRange, field, "is not between 0 and 1000000")
        return nil
    }

    mutating func missing(_ field: StaticString) -> UnsafeRawBufferPointer {
        report(.missingField, field, "is missing")
        return Self.noText
    }

    private mutating func integer(_ number: JSONNumber, _ field: StaticString) -> Int64? {
        switch number.asInteger {
        case .exact(let integer): return integer
        case .beyondInt64: report(.outOfRange, field, "is beyond 64 bits")
        case .fraction: report(.wrongType, field, "is not a whole number")
        }
        return nil
    }

    private mutating func identifier(_ number: JSONNumber, _ field: StaticString) -> Int64? {
        switch number.asInteger {
        case .exact(let integer) where integer >= 0: return integer
        case .exact, .fraction: report(.outOfRange, field, "is not a whole number from 0")
        case .beyondInt64: report(.outOfRange, field, "is beyond 64 bits")
        }
        return nil
    }

    private static var noText: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: nil, count: 0)
    }
}

extension JSONValue {
    /// A flag that producers write as a boolean, or as the number 1 or 0; nil for any other value.
    @inline(__always)
    var flag: Bool? {
        if let boolean { return boolean }
        guard case .exact(let number)? = number?.asInteger, (0...1).contains(number) else {
            return nil
        }
        return number == 1
    }

    /// A price of 0 to 1,000,000 units in millionths, rounded to the nearest, half away from zero; nil for
    /// any other value.
    @inline(__always)
    var priceMicros: Int64? {
        guard let price = number?.double, price >= 0, price <= 1_000_000 else { return nil }
        return Int64((price * 1_000_000).rounded(.toNearestOrAwayFromZero))
    }
}
