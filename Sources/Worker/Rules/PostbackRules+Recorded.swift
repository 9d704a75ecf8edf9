import Attestation
import ConversionModels
import Pipelines
import Streams

extension PostbackRules {
    /// Reads what `configuration` wrote; nothing of it is secret.
    package init(recorded text: String, pipelines: PipelineDirectory) throws {
        let models = try [ConversionModel](recordedIn: text)
        self = try RecordedConfiguration.read(text) {
            configuration throws(RecordedConfigurationFault) in
            try PostbackRules(recorded: configuration, models: models)
        }
    }

    private init(
        recorded configuration: RecordedConfiguration, models: [ConversionModel]
    ) throws(RecordedConfigurationFault) {
        maxRecordBytes = Int(try configuration.member("max_record_bytes").integer())
        trustsDevelopment = try configuration.member("trust_development").boolean()
        let keys = try configuration.member("trusted_keys")
        productionKeys = try keys.member("production").texts()
        developmentKeys = try keys.member("development").texts()
        adAttributionKitKeys = try keys.member("adattributionkit").elements {
            key throws(RecordedConfigurationFault) in try AdAttributionKitKey(recorded: key)
        }
        self.models = models
        partners = try configuration.member("partners").elements {
            partner throws(RecordedConfigurationFault) in try PartnerRule(recorded: partner)
        }
    }
}

extension AdAttributionKitKey {
    /// Reads the key id, the key and the verdict; an id may have spaces in it.
    fileprivate init(recorded key: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let parts = try key.text().split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count >= 3,
            let verdict = Verdict.allCases.first(where: { $0.name == parts[parts.count - 1] })
        else { throw key.fault }
        self.init(
            kid: parts.dropLast(2).joined(separator: " "), key: String(parts[parts.count - 2]),
            verdict: verdict)
    }
}

extension PartnerRule {
    fileprivate init(recorded partner: RecordedConfiguration) throws(RecordedConfigurationFault) {
        let trust = try partner.member("trust").elements {
            name throws(RecordedConfigurationFault) in
            let text = try name.text()
            guard let verdict = Verdict.allCases.first(where: { $0.name == text }) else {
                throw name.fault
            }
            return verdict
        }
        self.init(
            name: try partner.member("name").text(), trust: Set(trust),
            networks: try partner.optional("networks")?.texts(),
            apps: try partner.optional("apps")?.integers(),
            windows: try partner.optional("windows")?.integers())
    }
}

extension RecordedConfiguration {
    func texts() throws(RecordedConfigurationFault) -> [String] {
        try elements { text throws(RecordedConfigurationFault) in try text.text() }
    }

    fileprivate func texts() throws(RecordedConfigurationFault) -> Set<String> {
        let texts: [String] = try texts()
        return Set(texts)
    }

    fileprivate func integers<Number: FixedWidthInteger>() throws(RecordedConfigurationFault)
        -> Set<Number>
    {
        Set(
            try elements { number throws(RecordedConfigurationFault) in
                Number(truncatingIfNeeded: try number.integer())
            })
    }
}
