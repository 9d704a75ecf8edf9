import JSON

/// A stream that accepts producers' own events. It declares their keys; its decoder knows the reasons for rejection.
protocol ProducedStream: StreamFold {
    static func makeEventKeys() -> any EventKeying
    /// The key of an event's record.
    static func key(of event: JSONValue, _ kind: Kind, _ faults: inout FieldFaults) -> [UInt8]
    /// The events to append for a value, each with its key.
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

/// Decodes the records of a topic. One decoder serves all records, to reuse the memory of its lists.
protocol EventDecoder: ~Copyable {
    associatedtype Kind: EventType
    /// An event with its identity.
    associatedtype Decoded

    init()
    /// Throws the reason for a rejection.
    mutating func decode(
        _ value: JSONValue, _ kind: Kind, symbols: inout SymbolTable
    ) throws(Rejection) -> Decoded
    /// Throws the reason for rejecting an event at this time, in milliseconds since 1970.
    static func check(_ event: Decoded, at timestampMilliseconds: Int64) throws(Rejection)
}

extension EventDecoder where Self: ~Copyable {
    /// Most events are accepted at any time.
    static func check(_ event: Decoded, at timestampMilliseconds: Int64) {}
}

/// The streams that accept producers' own events.
package let producedStreams = allStreams.filter { $0 is any ProducedStream.Type }

extension StreamFold {
    /// The type of an event without a type.
    package static var defaultType: String { "\(Kind.byDefault.name)" }

    /// Nil if producers send no events of their own.
    static var eventKeys: (any EventKeying)? {
        (self as? any ProducedStream.Type)?.makeEventKeys()
    }
}

package struct KeyedEvent: Equatable, Sendable {
    package let key: [UInt8]
    /// The value; nil for the received bytes, unchanged.
    package let value: [UInt8]?
}

/// Finds the keys of a topic's events, and its worker's reasons for rejecting them.
protocol EventKeying: AnyObject {
    func knows(type name: String) -> Bool
    /// The events to append for a value of a known type. `parser` reads the split events; the value itself stays valid.
    ///
    /// - Parameter timestampMilliseconds: the time of the append, since 1970; nil to skip checks of the time.
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
        // The reason with the highest precedence in all parts.
        var refusal: Rejection?
        for event in events {
            do throws(Rejection) {
                if let part = event.value {
                    try check(part, kind, timestampMilliseconds, parser)
                } else {
                    try check(value, kind, timestampMilliseconds)
                }
            } catch {
                if let earlier = refusal, earlier.reason <= error.reason { continue }
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
