import ConfigurationValues
import Streams

extension PipelineDirectory {
    /// The directory with a file for each stream, on disk or built in.
    package init(_ path: String) {
        self.init(
            path, streams: allStreams.map { $0.streamName },
            producerStreams: producedStreams.map { $0.streamName },
            source: BuiltInFiles.source(of: path))
    }

    /// The consumer groups of the programs that have a file, by the names of their files.
    package func groups() throws(ConfigurationError) -> [String: String] {
        var groups: [String: String] = [:]
        for program in programs where has(program: program) {
            groups[program] = try settings(of: program).group
        }
        return groups
    }

    package func settings(of program: String) throws(ConfigurationError) -> StreamSettings {
        guard let stream = Streams.stream(named: program) else { return try partnerPostbacks() }
        return try stream.file(in: self).settings
    }
}

extension PipelineDirectory {
    /// Throws if a file has an unknown name: its user believes that it counts.
    package func requireKnownFiles() throws(ConfigurationError) {
        if let unknown = try unknownFiles().first { throw unknown }
    }

    /// One fault for each file with an unknown name at the top.
    func unknownFiles() throws(ConfigurationError) -> [ConfigurationError] {
        let expected =
            programs.map { "\($0).yaml" }
            + [Self.catalogName, Self.collectorName, Self.kafkaName, WatchFile.name]
        return try names().filter { !expected.contains($0) }.map { name in
            Self.unknownFile(
                "\(path)/\(name)",
                "Weir does not read this file; known here: \(expected.joined(separator: ", "))")
        }
    }
}

extension PipelineDirectory {
    /// All faults, at most one per file: first unknown files, then streams, the catalog, conversion models, partners,
    /// mappings of costs and rules of `weir watch`.
    ///
    /// A missing stream file is allowed here: its worker reports it at its start.
    package func check() -> [ConfigurationError] {
        do {
            return try unknownFiles() + faults()
        } catch {
            return [error]
        }
    }

    private func faults() -> [ConfigurationError] {
        var faults: [ConfigurationError] = []
        func collect<Value>(_ read: () throws(ConfigurationError) -> Value) -> Value? {
            do {
                return try read()
            } catch {
                // Several parts may read one file.
                if !faults.contains(error) { faults.append(error) }
                return nil
            }
        }
        for stream in allStreams where stream.isConfigured(in: self) {
            _ = collect { () throws(ConfigurationError) in try stream.readRules(in: self) }
        }
        if has(program: Self.partnerPostbacksName) { _ = collect(partnerPostbacks) }
        _ = collect { () throws(ConfigurationError) in try catalog() }
        _ = collect { () throws(ConfigurationError) in try collectorPipeline() }
        let models = collect { () throws(ConfigurationError) in try names(in: Self.modelsName) }
        for name in models ?? [] {
            _ = collect { () throws(ConfigurationError) in try conversionModel(name) }
        }
        let partners = collect { () throws(ConfigurationError) in try names(in: Self.partnersName) }
        for name in partners ?? [] {
            _ = collect { () throws(ConfigurationError) in try partner(name) }
        }
        let mappings = collect { () throws(ConfigurationError) in try costMappingNames() }
        for name in mappings ?? [] {
            _ = collect { () throws(ConfigurationError) in try costMapping(name) }
        }
        if hasWatch { _ = collect(watch) }
        let reports = collect { () throws(ConfigurationError) in try reportNames() }
        for name in reports ?? [] {
            _ = collect { () throws(ConfigurationError) in try report(name) }
        }
        if hasRates { _ = collect(rates) }
        if faults.isEmpty {
            _ = collect(appsByBundle)
            _ = collect(checkReportCurrency)
        }
        return faults
    }

    /// Throws if `rates.csv` does not have the currency of amounts on pages.
    private func checkReportCurrency() throws(ConfigurationError) {
        guard let currency = try catalog().reportCurrency,
            let node = try root(of: "\(path)/\(Self.catalogName)").entries()
                .first(where: { $0.key == "report_currency" })?.value
        else { return }
        guard hasRates, try rates().currencies.contains(currency) else {
            throw node.badValue(
                "is \(currency), for which rates.csv has no rates: add them, or remove this key")
        }
    }

    /// App Store ids by bundle id, from `catalog.yaml` and `store-notifications.yaml`. The latter's worker reports
    /// its other faults.
    ///
    /// Throws if the two files name different apps for one bundle id.
    package func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        var apps = try catalog().appsByBundle
        let name = "store-notifications.yaml"
        guard try names().contains(name) else { return apps }
        let root = try root(of: "\(path)/\(name)").entries()
        for element in try root.first(where: { $0.key == "apps" })?.value.elements() ?? [] {
            let entries = try element.entries()
            guard let bundle = entries.first(where: { $0.key == "bundle_id" })?.value,
                let node = entries.first(where: { $0.key == "app_apple_id" })?.value
            else { continue }
            let app = try node.app()
            let existing = apps.updateValue(app, forKey: try bundle.name())
            guard existing == nil || existing == app else {
                throw node.badValue(
                    "is \(app), but catalog.yaml gives this bundle_id to another app: use the same app in both"
                )
            }
        }
        return apps
    }
}

extension StreamFold {
    /// Reads everything that the stream's worker reads.
    fileprivate static func readRules(in pipelines: PipelineDirectory) throws(ConfigurationError) {
        _ = try rules(in: pipelines)
    }
}
