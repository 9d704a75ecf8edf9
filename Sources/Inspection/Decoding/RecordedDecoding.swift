import AggregateStore
import ConversionModels
import Streams

/// How the postbacks of a partition were decoded, as its store has recorded it.
struct RecordedDecoding {
    /// The models that were in force last, by app. Versions are only appended, so that they decode what
    /// came earlier as it was decoded then.
    let models: [Int64: ConversionModel]
    /// Whether postbacks of development devices were trusted last.
    let trustsDevelopment: Bool
    /// Whether that was otherwise at some time before.
    let changedTrust: Bool

    init(_ epochs: [Epoch]) throws(RecordedConfigurationFault) {
        var trust: [Bool] = []
        for epoch in epochs { trust.append(try epoch.configuration.trustsDevelopment()) }
        trustsDevelopment = trust.last ?? false
        changedTrust = Set(trust).count > 1
        let models = try epochs.last.map { epoch throws(RecordedConfigurationFault) in
            try [ConversionModel](recordedIn: epoch.configuration.text)
        }
        self.models = Dictionary(
            (models ?? []).map { ($0.app, $0) }, uniquingKeysWith: { first, _ in first })
    }
}

extension FoldConfiguration {
    fileprivate func trustsDevelopment() throws(RecordedConfigurationFault) -> Bool {
        try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try configuration.optional("trust_development")?.boolean() ?? false
        }
    }
}

extension StoreView.Copy {
    /// How each partition of postbacks was decoded.
    ///
    /// - Throws: `unreadableConfiguration` for what another version has recorded.
    func recordedDecodings() throws -> [Int32: RecordedDecoding] {
        var decodings: [Int32: RecordedDecoding] = [:]
        for number in numbers {
            let epochs = try snapshot.epochs(of: number)
            do throws(RecordedConfigurationFault) {
                decodings[number] = try RecordedDecoding(epochs)
            } catch {
                throw InspectionError.unreadableConfiguration(
                    stream: stream, partition: number, error)
            }
        }
        return decodings
    }
}
