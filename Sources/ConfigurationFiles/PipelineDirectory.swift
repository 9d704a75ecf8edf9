import ConversionModels
import Foundation

/// Weir's configuration: a directory of YAML files (`--pipelines`), read into typed values. Errors
/// name the file, the line and the key, and say what to do.
///
/// ```swift
/// let directory = PipelineDirectory("pipelines")  // with an initialiser of the module Streams
/// let settings = try directory.stream("bids", defaultWindowSeconds: 3600).settings  // bids.yaml
/// let models = try directory.conversionModels()  // conversion-models/*.yaml
/// for fault in directory.check() { print(fault) }
/// ```
///
/// Every method reads its files again. Files named `*.test.yaml`, hidden files and files of other
/// kinds are ignored. Any other YAML file whose name nothing reads is an error.
package struct PipelineDirectory: Sendable {
    /// As it was given; errors name files under it.
    package let path: String
    /// The streams whose workers have a file here: `<stream>.yaml`.
    package let streams: [String]
    /// Those of them that producers send events of their own to.
    let producerStreams: [String]

    package static let partnerPostbacksName = "partner-postbacks"

    /// Nothing is read yet.
    package init(_ path: String, streams: [String], producerStreams: [String]) {
        self.path = path
        self.streams = streams
        self.producerStreams = producerStreams
    }

    /// The programs that read a log and have a file here, by the names of their files.
    package var programs: [String] { streams + [Self.partnerPostbacksName] }

    /// Reads a stream's file: what every worker has, and the stream's own `keys`.
    ///
    /// - Parameter defaultWindowSeconds: for how long ids are remembered by default; nil for ever.
    package func stream(
        _ name: String, defaultWindowSeconds: Int?, keys: [String] = []
    ) throws(ConfigurationError) -> StreamFile {
        try StreamFile(
            ConfigurationFile.read(required(name)), stream: name,
            defaultWindowSeconds: defaultWindowSeconds, keys: keys, directory: path)
    }

    /// `partner-postbacks.yaml`, of the program that delivers to partners. There is no dedupe memory to bound.
    package func partnerPostbacks() throws(ConfigurationError) -> StreamSettings {
        let name = Self.partnerPostbacksName
        let mapping = try ConfigurationFile.read(required(name))
            .mapping(StreamSettings.keys.filter { $0 != "dedupe_max_ids" })
        return try StreamSettings(mapping, stream: name)
    }

    /// Throws when a file has a name that nothing reads: its user believes that it counts.
    package func requireKnownFiles() throws(ConfigurationError) {
        if let unknown = try unknownFiles().first { throw unknown }
    }

    /// The catalog; an empty one without `catalog.yaml`. With `isRequired`, throws when the file is
    /// missing or empty.
    package func catalog(isRequired: Bool = false) throws(ConfigurationError) -> Catalog {
        try content(.catalog, isRequired: isRequired).map(Catalog.init) ?? Catalog()
    }

    /// The conversion models by ascending app; none without `conversion-models`.
    package func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        try names(in: Self.modelsName)
            .map { name throws(ConfigurationError) in try conversionModel(name) }
            .sorted { $0.app < $1.app }
    }

    /// The conversion models of a directory that holds candidates: the files of its folder
    /// `conversion-models`, or its own files without that folder. Throws when there is none.
    package func candidateModels() throws(ConfigurationError) -> [ConversionModel] {
        let hasFolder = FileManager.default.fileExists(atPath: "\(path)/\(Self.modelsName)")
        let folder = hasFolder ? "\(path)/\(Self.modelsName)" : path
        guard Self.isDirectory(folder) else {
            throw ConfigurationError(
                kind: .missingFile, file: folder,
                explanation: "is no directory: give --models the directory of the candidate models")
        }
        let models = try Self.names(inDirectory: folder).map { name throws(ConfigurationError) in
            try Self.conversionModel(at: "\(folder)/\(name)")
        }
        guard !models.isEmpty else {
            throw ConfigurationError(
                kind: .missingFile, file: folder,
                explanation: "holds no conversion model: put files there as 525463029.yaml")
        }
        return models.sorted { $0.app < $1.app }
    }

    /// The partners by name, in bytewise order; none without `partners`. With `isRequired`, throws
    /// when the directory is missing.
    package func partners(isRequired: Bool = false) throws(ConfigurationError) -> [Partner] {
        if isRequired, !has(.partners) { throw gone(.partners) }
        return try names(in: Self.partnersName)
            .map { name throws(ConfigurationError) in try partner(name) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// The partners whose files can be read, by name, and what is wrong with the other files: one fault each, with the
    /// name of the partner.
    package func readablePartners() -> (
        partners: [Partner], faults: [(name: String, fault: ConfigurationError)]
    ) {
        var partners: [Partner] = []
        var faults: [(name: String, fault: ConfigurationError)] = []
        do {
            for name in try names(in: Self.partnersName) {
                do {
                    partners.append(try partner(name))
                } catch {
                    faults.append((name.withoutYAML, error))
                }
            }
        } catch {
            faults.append(("", error))
        }
        partners.sort { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
        return (partners, faults)
    }

    /// The topic of documents for partners: that of `partner-postbacks.yaml`, or the default
    /// without the file.
    package func partnerPostbacksTopic() throws(ConfigurationError) -> String {
        has(program: Self.partnerPostbacksName)
            ? try partnerPostbacks().topic : Self.partnerPostbacksName
    }
}

// MARK: What is read again

extension PipelineDirectory {
    /// What programs read again while they work. A program may start without it. One that works
    /// requires what was there before: a file that was removed, emptied or hidden by a mount by
    /// mistake must not remove all keys or partners.
    package enum ReadAgain: String, Sendable {
        case catalog = "catalog.yaml"
        case collector = "collector.yaml"
        case partners
    }

    /// Whether it exists and, if it is a file, is not empty.
    package func has(_ part: ReadAgain) -> Bool {
        let file = "\(path)/\(part.rawValue)"
        guard part != .partners else { return Self.isDirectory(file) }
        guard FileManager.default.fileExists(atPath: file) else { return false }
        do {
            return try content(part, isRequired: false) != nil
        } catch {
            // A file with an error is not empty.
            return true
        }
    }

    /// The root of a file; nil when the file is missing or has only comments.
    func content(
        _ part: ReadAgain, isRequired: Bool
    ) throws(ConfigurationError) -> ConfigurationNode? {
        let file = "\(path)/\(part.rawValue)"
        guard try names().contains(part.rawValue) else {
            if isRequired { throw gone(part) }
            return nil
        }
        let content = try ConfigurationFile.content(of: file)
        if content == nil, isRequired {
            throw ConfigurationError(
                kind: .unreadable, file: file,
                explanation:
                    "is empty, or no file any more: restore it, or restart to work without it")
        }
        return content
    }

    private func gone(_ part: ReadAgain) -> ConfigurationError {
        ConfigurationError(
            kind: .missingFile, file: "\(path)/\(part.rawValue)",
            explanation: "is not there any more: restore it, or restart to work without it")
    }
}

extension PipelineDirectory {
    static let catalogName = ReadAgain.catalog.rawValue
    static let modelsName = "conversion-models"
    static let partnersName = ReadAgain.partners.rawValue

    func conversionModel(_ name: String) throws(ConfigurationError) -> ConversionModel {
        try Self.conversionModel(at: "\(path)/\(Self.modelsName)/\(name)")
    }

    private static func conversionModel(
        at file: String
    ) throws(ConfigurationError) -> ConversionModel {
        let name = (file as NSString).lastPathComponent
        let stem = name.withoutYAML
        guard let app = Int64(stem), app > 0, String(app) == stem else {
            throw unknownFile(file, "name it after its app, as 525463029.yaml, or remove it")
        }
        return try ConversionModelFile.model(ConfigurationFile.read(file), fileApp: app)
    }

    func partner(_ name: String) throws(ConfigurationError) -> Partner {
        let file = "\(path)/\(Self.partnersName)/\(name)"
        let stem = name.withoutYAML
        guard PartnerFile.isName(stem) else {
            throw Self.unknownFile(
                file, "name it after the partner, in lower-case letters, digits and dashes")
        }
        return try PartnerFile.partner(ConfigurationFile.read(file), fileName: stem)
    }

    /// One fault for each file at the top whose name nothing reads.
    func unknownFiles() throws(ConfigurationError) -> [ConfigurationError] {
        let known =
            programs.map { "\($0).yaml" }
            + [Self.catalogName, Self.collectorName, Self.kafkaName, WatchFile.name]
        return try names().filter { !known.contains($0) }.map { name in
            Self.unknownFile(
                "\(path)/\(name)", "nothing reads it; known here: \(known.joined(separator: ", "))")
        }
    }

    /// The names of the YAML files in the directory, or in a folder of it that may be missing; in
    /// bytewise order.
    func names(in folder: String? = nil) throws(ConfigurationError) -> [String] {
        guard let folder else { return try Self.names(inDirectory: path) }
        _ = try names()
        let directory = "\(path)/\(folder)"
        return FileManager.default.fileExists(atPath: directory)
            ? try Self.names(inDirectory: directory) : []
    }

    private static func names(
        inDirectory directory: String
    ) throws(ConfigurationError) -> [String] {
        guard isDirectory(directory) else {
            throw ConfigurationError(
                kind: .missingFile, file: directory,
                explanation: "is no directory: give --pipelines the directory of the configuration")
        }
        let all: [String]
        do {
            all = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw ConfigurationError(
                kind: .unreadable, file: directory,
                explanation: "cannot be listed: let this user read the directory")
        }
        return all.filter(\.isConfigurationName)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    private static func isDirectory(_ path: String) -> Bool {
        var isDirectory: ObjCBool = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory)
            && isDirectory.boolValue
    }

    /// Whether there is a table of rates.
    package var hasRates: Bool { Self.isNamed(ratesPath) }

    /// Whether there is an entry at a path. A link to a file that is gone is one, and its reader says what is wrong:
    /// somebody meant it to be there.
    static func isNamed(_ path: String) -> Bool {
        var found = stat()
        return lstat(path, &found) == 0
    }

    /// Whether a program has a file.
    package func has(program: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(path)/\(program).yaml")
    }

    private func required(_ program: String) throws(ConfigurationError) -> String {
        // A directory that is not there is said to be that.
        _ = try names()
        let file = "\(path)/\(program).yaml"
        guard has(program: program) else {
            throw ConfigurationError(
                kind: .missingFile,
                file: file,
                explanation:
                    "does not exist: copy the one that Weir ships as pipelines/\(program).yaml")
        }
        return file
    }

    private static func unknownFile(_ file: String, _ explanation: String) -> ConfigurationError {
        ConfigurationError(kind: .unknownFile, file: file, explanation: explanation)
    }
}

extension String {
    /// Whether it is `.yaml` or `.yml`, not hidden and no test.
    fileprivate var isConfigurationName: Bool {
        let isYAML = hasSuffix(".yaml") || hasSuffix(".yml")
        let isTest = hasSuffix(".test.yaml") || hasSuffix(".test.yml")
        return isYAML && !isTest && !hasPrefix(".")
    }

    /// Without `.yaml`. A name with `.yml` stays as it is, and so is no valid name.
    var withoutYAML: String {
        hasSuffix(".yaml") ? String(dropLast(".yaml".count)) : self
    }
}

extension PipelineDirectory {
    /// Everything that is wrong, at most one fault a file: first files that nothing reads, then
    /// streams, the catalog, conversion models, partners, mappings of costs and what is watched.
    ///
    /// A stream without a file is no fault here: its worker reports that at its start.
    /// - Parameter readStream: reads all that the worker of a stream reads.
    package func check(
        readStream: (String) throws(ConfigurationError) -> Void
    ) -> [ConfigurationError] {
        do {
            return try unknownFiles() + faults(readStream)
        } catch {
            return [error]
        }
    }

    private func faults(
        _ readStream: (String) throws(ConfigurationError) -> Void
    ) -> [ConfigurationError] {
        var faults: [ConfigurationError] = []
        func note<Value>(_ read: () throws(ConfigurationError) -> Value) -> Value? {
            do {
                return try read()
            } catch {
                // Several parts may read one file.
                if !faults.contains(error) { faults.append(error) }
                return nil
            }
        }
        for stream in streams where has(program: stream) {
            _ = note { () throws(ConfigurationError) in try readStream(stream) }
        }
        if has(program: Self.partnerPostbacksName) { _ = note(partnerPostbacks) }
        _ = note { () throws(ConfigurationError) in try catalog() }
        _ = note { () throws(ConfigurationError) in try collectorPipeline() }
        let models = note { () throws(ConfigurationError) in try names(in: Self.modelsName) }
        for name in models ?? [] {
            _ = note { () throws(ConfigurationError) in try conversionModel(name) }
        }
        let partners = note { () throws(ConfigurationError) in try names(in: Self.partnersName) }
        for name in partners ?? [] {
            _ = note { () throws(ConfigurationError) in try partner(name) }
        }
        let mappings = note { () throws(ConfigurationError) in try costMappingNames() }
        for name in mappings ?? [] {
            _ = note { () throws(ConfigurationError) in try costMapping(name) }
        }
        if hasWatch { _ = note(watch) }
        let reports = note { () throws(ConfigurationError) in try reportNames() }
        for name in reports ?? [] {
            _ = note { () throws(ConfigurationError) in try report(name) }
        }
        if hasRates { _ = note(rates) }
        if faults.isEmpty { _ = note(appsByBundle) }
        return faults
    }

    /// App Store ids by bundle id, from `catalog.yaml` and `store-notifications.yaml`. Other faults
    /// of the latter are left to its worker.
    ///
    /// Throws when the two files name different apps for one bundle id.
    package func appsByBundle() throws(ConfigurationError) -> [String: Int64] {
        var apps = try catalog().appsByBundle
        let name = "store-notifications.yaml"
        guard try names().contains(name) else { return apps }
        let root = try ConfigurationFile.read("\(path)/\(name)").entries()
        for element in try root.first(where: { $0.key == "apps" })?.value.elements() ?? [] {
            let entries = try element.entries()
            guard let bundle = entries.first(where: { $0.key == "bundle_id" })?.value,
                let node = entries.first(where: { $0.key == "app_apple_id" })?.value
            else { continue }
            let app = try node.app()
            let known = apps.updateValue(app, forKey: try bundle.name())
            guard known == nil || known == app else {
                throw node.badValue(
                    "is \(app), and catalog.yaml gives this bundle_id to another app: make them one"
                )
            }
        }
        return apps
    }
}
