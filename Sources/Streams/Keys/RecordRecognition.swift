// Detects the stream of a record. Publishing uses it to notice records of another topic.

extension StreamFold {
    /// The types of the topic's records, as `ce_type` contains them.
    package static var typeNames: [String] { Kind.allCases.map { "\($0.name)" } }
}

extension RecordKeyReader {
    /// Whether a value without `ce_type` has the fields of the stream's records: for producers' events all that the
    /// worker requires, for postbacks and notifications those that identify them. Signatures are not verified.
    ///
    /// - Returns: nil for a stream that cannot be recognised from values.
    package func recognises(_ value: [UInt8], as stream: any StreamFold.Type) -> Bool? {
        do throws(Rejection) {
            switch stream {
            case is PostbacksFold.Type:
                _ = try skAdNetworkKey(value)
            case is StoreNotificationsFold.Type:
                _ = try notification(value)
            case is any ProducedStream.Type:
                _ = try events(value, stream: stream, type: stream.defaultType)
            default: return nil
            }
            return true
        } catch {
            return false
        }
    }
}
