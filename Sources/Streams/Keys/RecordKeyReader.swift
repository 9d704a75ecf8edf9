import JSON

/// Reads from a value the key that its record is to be appended under, so that duplicates come to one
/// partition, and whether a worker would refuse it: a producer's event for anything, a postback or a
/// notification for what the key is made of, since all else of those is the worker's to judge.
///
/// `@unchecked Sendable`: a reader is used by one thread at a time, that which holds it.
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

    /// Calls `body` with the value of bytes that are an object. Throws what a worker would reject them
    /// for, or what `body` throws.
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

    /// The value of a record, an object; valid until the next one is read.
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

    /// The keys of what a producer of its own sends. It is one event but for listings of several requests,
    /// which become one for each request, in the order in which they are named first.
    ///
    /// Throws what the topic's worker would reject it for, were it appended.
    ///
    /// - Parameter timestampMilliseconds: when it is appended, since 1970; nil where that is not judged.
    package func events(
        _ bytes: [UInt8], stream: any StreamFold.Type, type name: String,
        at timestampMilliseconds: Int64? = nil
    ) throws(Rejection) -> [KeyedEvent] {
        let keying = keyings[stream.streamName] ?? stream.eventKeys
        keyings[stream.streamName] = keying
        let known = keying?.knows(type: name) == true ? keying : nil
        func unknown() -> Rejection {
            Rejection(.unknownType, "the topic \(stream.streamName) has no type '\(name)'")
        }
        do throws(Rejection) {
            return try read(bytes) { value throws(Rejection) in
                guard let known else { throw unknown() }
                return try known.events(
                    of: value, type: name, at: timestampMilliseconds, parser: innerParser)
            }
        } catch {
            // An unknown type comes before a value that is no object.
            throw known == nil && error.reason == .wrongType ? unknown() : error
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
