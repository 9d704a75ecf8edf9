import JSON

/// A stream that takes events of producers of their own. It says what they are appended under; what its worker
/// would reject them for is known from its decoder.
protocol ProducedStream: StreamFold {
    static func makeEventKeys() -> any EventKeying
    /// The key that an event's record has.
    static func key(of event: JSONValue, _ kind: Kind, _ faults: inout FieldFaults) -> [UInt8]
    /// The events that a value is appended as, each with its key.
    static func keyedEvents(
        of value: JSONValue, _ kind: Kind, _ faults: inout FieldFaults
    ) throws(Rejection) -> [KeyedEvent]
}

extension ProducedStream {
    static func keyedEvents(
        of value: JSONValue, _ kind: Kind, _ faults: inout FieldFaults
    ) -> [KeyedEvent] {
        [KeyedEvent(key: key(of: value, kind, &faults), value: nil)]
    }
}

/// Decodes the records of a topic. One decoder serves all records: it keeps the memory of its lists.
protocol EventDecoder: ~Copyable {
    associatedtype Kind: EventType
    /// An event, with what tells it from others.
    associatedtype Decoded

    init()
    /// Throws why a record is rejected.
    mutating func decode(
        _ value: JSONValue, _ kind: Kind, symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded
    /// Throws why an event is rejected that comes at this time, in milliseconds since 1970.
    static func check(_ event: Decoded, at timestampMilliseconds: Int64) throws(Rejection)
}

extension EventDecoder where Self: ~Copyable {
    /// Most events are taken at any time.
    static func check(_ event: Decoded, at timestampMilliseconds: Int64) {}
}

/// The streams that take events of producers of their own.
package let producedStreams = allStreams.filter { $0 is any ProducedStream.Type }

extension StreamFold {
    /// The type of an event that does not say its own.
    package static var defaultType: String { "\(Kind.byDefault.name)" }

    /// Nil where producers of their own send no events.
    static var eventKeys: (any EventKeying)? {
        (self as? any ProducedStream.Type)?.makeEventKeys()
    }
}

package struct KeyedEvent: Equatable, Sendable {
    package let key: [UInt8]
    /// The value; nil for what was received, byte for byte.
    package let value: [UInt8]?
}

/// Finds the keys of a topic's events, and what its worker would reject them for.
protocol EventKeying: AnyObject {
    func knows(type name: String) -> Bool
    /// The events that a value of a known type is appended as. `parser` reads those that are parts of it; the value
    /// itself stays valid.
    ///
    /// - Parameter timestampMilliseconds: when it comes, since 1970; nil where that is not judged.
    func events(
        of value: JSONValue, type name: String, at timestampMilliseconds: Int64?,
        parser: JSONParser
    ) throws(Rejection) -> [KeyedEvent]
}

final class EventKeys<Stream: ProducedStream, Decoder: EventDecoder & ~Copyable>: EventKeying
where Decoder.Kind == Stream.Kind {
    private var decoder = Decoder()
    private var symbols = SymbolTable()

    func knows(type name: String) -> Bool { kind(named: name) != nil }

    func events(
        of value: JSONValue, type name: String, at timestampMilliseconds: Int64?,
        parser: JSONParser
    ) throws(Rejection) -> [KeyedEvent] {
        guard let kind = kind(named: name) else { return [] }
        var faults = FieldFaults()
        let events = try Stream.keyedEvents(of: value, kind, &faults)
        // Of all parts, the reason that comes first.
        var refusal: Rejection?
        for event in events {
            do throws(Rejection) {
                if let part = event.value {
                    try check(part, kind, timestampMilliseconds, parser)
                } else {
                    try check(value, kind, timestampMilliseconds)
                }
            } catch {
                if let known = refusal, known.reason <= error.reason { continue }
                refusal = error
            }
        }
        if let rejection = refusal ?? faults.rejection { throw rejection }
        return events
    }

    private func kind(named name: String) -> Stream.Kind? {
        Stream.Kind.allCases.first { kind in
            kind.name.withUTF8Buffer { $0.elementsEqual(name.utf8) }
        }
    }

    private func check(
        _ value: JSONValue, _ kind: Stream.Kind, _ timestampMilliseconds: Int64?
    ) throws(Rejection) {
        if symbols.isLarge { symbols.removeAll() }
        let event = try decoder.decode(value, kind, symbols: &symbols)
        if let timestampMilliseconds { try Decoder.check(event, at: timestampMilliseconds) }
    }

    private func check(
        _ part: [UInt8], _ kind: Stream.Kind, _ timestampMilliseconds: Int64?,
        _ parser: JSONParser
    ) throws(Rejection) {
        let answer = part.withUnsafeBytes { bytes -> Result<Void, Rejection> in
            do throws(JSONFault) {
                let value = try parser.parse(bytes)
                do throws(Rejection) {
                    return .success(try check(value, kind, timestampMilliseconds))
                } catch {
                    return .failure(error)
                }
            } catch {
                return .failure(Rejection(error))
            }
        }
        try answer.get()
    }
}
