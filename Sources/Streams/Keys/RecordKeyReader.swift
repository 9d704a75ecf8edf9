import JSON

/// Reads from a value the key of its record, so that duplicates go to one partition, and checks whether a worker would
/// reject it. It checks all of a producer's event, but only the key fields of a postback or a notification: the worker
/// judges the rest.
///
/// `@unchecked Sendable`: only one thread at a time holds and uses a reader.
package final class RecordKeyReader: @unchecked Sendable {
    package static let maxBytes = 1 << 20

    let parser: JSONParser
    let innerParser: JSONParser
    let notifications: StoreNotificationsDecoder
    var faults = FieldFaults()
    private var keyings: [String: any EventKeying] = [:]

    package init?() {
        guard let parser = JSONParser(), let innerParser = JSONParser(),
            let notifications = StoreNotificationsDecoder(
                trust: StoreNotificationsTrust(
                    apps: [], environments: [], verifier: .init(roots: [])),
                maxRecordBytes: Self.maxBytes)
        else { return nil }
        self.parser = parser
        self.innerParser = innerParser
        self.notifications = notifications
    }

    /// Calls `body` with the bytes' value, an object. Throws the worker's reason for rejecting them, or the error of
    /// `body`.
    package func read<Answer>(
        _ bytes: [UInt8], _ body: (JSONValue) throws(Rejection) -> Answer
    ) throws(Rejection) -> Answer {
        let answer = bytes.withUnsafeBytes { bytes -> Result<Answer, Rejection> in
            do throws(Rejection) {
                return .success(try body(try object(bytes)))
            } catch {
                return .failure(error)
            }
        }
        return try answer.get()
    }

    /// The value of a record, an object; valid until the next read.
    private func object(_ bytes: UnsafeRawBufferPointer) throws(Rejection) -> JSONValue {
        faults = FieldFaults()
        guard bytes.count <= Self.maxBytes else {
            throw Rejection(
                .tooLarge, "the value has \(bytes.count) bytes, \(Self.maxBytes) are allowed")
        }
        let value: JSONValue
        do throws(JSONFault) {
            value = try parser.parse(bytes)
        } catch {
            throw Rejection(error)
        }
        guard value.isObject else { throw Rejection(.wrongType, "the value is not an object") }
        return value
    }

    /// The keys of a producer's own event. Listings of several requests become one event for each request, in order of
    /// first occurrence.
    ///
    /// Throws the reason why the topic's worker would reject the event.
    ///
    /// - Parameter timestampMilliseconds: the time of the append, since 1970; nil to skip checks of the time.
    package func events(
        _ bytes: [UInt8], stream: any StreamFold.Type, type name: String,
        at timestampMilliseconds: Int64? = nil
    ) throws(Rejection) -> [KeyedEvent] {
        let keying = keyings[stream.streamName] ?? stream.eventKeys
        keyings[stream.streamName] = keying
        let matching = keying?.knows(type: name) == true ? keying : nil
        func unknown() -> Rejection {
            Rejection(.unknownType, "the topic \(stream.streamName) has no type '\(name)'")
        }
        do throws(Rejection) {
            return try read(bytes) { value throws(Rejection) in
                guard let matching else { throw unknown() }
                return try matching.events(
                    of: value, type: name, at: timestampMilliseconds, parser: innerParser)
            }
        } catch {
            // An unknown type has precedence over a value that is not an object.
            throw matching == nil && error.reason == .wrongType ? unknown() : error
        }
    }

    func requiredKey(
        _ value: JSONValue?, _ field: StaticString
    ) throws(Rejection) -> [UInt8] {
        let id = faults.requiredID(value, field)
        if let rejection = faults.rejection { throw rejection }
        return Array(id)
    }
}
