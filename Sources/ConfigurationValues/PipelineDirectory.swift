import ConversionModels

/// Weir's configuration: a directory of YAML files (`--pipelines`), read into typed values. Errors contain the file,
/// the line, the key and the remedy.
///
/// ```swift
/// let directory = PipelineDirectory("pipelines")  // with an initialiser of the module ConfigurationFiles
/// let settings = try directory.stream("bids", defaultWindowSeconds: 3600).settings  // bids.yaml
/// let models = try directory.conversionModels()  // conversion-models/*.yaml
/// for fault in directory.check() { print(fault) }
/// ```
///
/// Every method reads its files again. It ignores `*.test.yaml`, hidden files and files of other kinds. A YAML file
/// with any other unknown name is an error.
package struct PipelineDirectory: Sendable {
    /// The source of the files.
    package let source: any ConfigurationSource
    /// As given; errors name files under it.
    package let path: String
    /// The streams with a worker's file here: `<stream>.yaml`.
    package let streams: [String]
    /// The streams to which producers send their own events.
    package let producerStreams: [String]

    package static let partnerPostbacksName = "partner-postbacks"

    /// Reads nothing yet.
    package init(
        _ path: String, streams: [String], producerStreams: [String],
        source: any ConfigurationSource
    ) {
        self.path = path
        self.source = source
        self.streams = streams
        self.producerStreams = producerStreams
    }

    /// The programs that read a log and have a file here, by the names of their files.
    package var programs: [String] { streams + [Self.partnerPostbacksName] }

    /// Reads a stream's file: the keys of every worker, and the stream's own `keys`.
    ///
    /// - Parameter defaultWindowSeconds: the default time for which ids are remembered; nil: without limit.
    package func stream(
        _ name: String, defaultWindowSeconds: Int?, keys: [ConfigurationKey] = []
    ) throws(ConfigurationError) -> StreamFile {
        try StreamFile(
            root(of: required(name)), stream: name,
            defaultWindowSeconds: defaultWindowSeconds, keys: keys, directory: self)
    }

    /// `partner-postbacks.yaml` of the program that delivers to partners. It has no dedupe memory to limit.
    package func partnerPostbacks() throws(ConfigurationError) -> StreamSettings {
        let name = Self.partnerPostbacksName
        let mapping = try root(of: required(name))
            .mapping(StreamSettings.partnerPostbacksKeys)
        return try StreamSettings(mapping, stream: name)
    }

    /// The catalog; an empty one without `catalog.yaml`. With `isRequired`, throws if the file is missing or empty.
    package func catalog(isRequired: Bool = false) throws(ConfigurationError) -> Catalog {
        try content(.catalog, isRequired: isRequired).map(Catalog.init) ?? Catalog()
    }

    /// The conversion models by ascending app; none without `conversion-models`.
    package func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        try names(in: Self.modelsName)
            .map { name throws(ConfigurationError) in try conversionModel(name) }
            .sorted { $0.app < $1.app }
    }

    /// The conversion models of a directory with candidates: the files of its folder `conversion-models`, or its own
    /// files without that folder. Throws without such files.
    package func candidateModels() throws(ConfigurationError) -> [ConversionModel] {
        let hasFolder = source.exists("\(path)/\(Self.modelsName)")
        let folder = hasFolder ? "\(path)/\(Self.modelsName)" : path
        guard source.isDirectory(folder) else {
            throw ConfigurationError(
                kind: .missingFile, file: folder,
                explanation:
                    "is not a directory: give --models the directory of the candidate models")
        }
        let models = try names(inDirectory: folder).map { name throws(ConfigurationError) in
            try conversionModel(at: "\(folder)/\(name)")
        }
        guard !models.isEmpty else {
            throw ConfigurationError(
                kind: .missingFile, file: folder,
                explanation: "contains no conversion models: add files such as 525463029.yaml")
        }
        return models.sorted { $0.app < $1.app }
    }

    /// The partners by name, in bytewise order; none without `partners`. With `isRequired`, throws if the directory
    /// is missing.
    package func partners(isRequired: Bool = false) throws(ConfigurationError) -> [Partner] {
        if isRequired, !has(.partners) { throw gone(.partners) }
        return try names(in: Self.partnersName)
            .map { name throws(ConfigurationError) in try partner(name) }
            .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// The partners with readable files, by name, and one fault for each other file, with the name of its partner.
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

    /// The topic of documents for partners: that of `partner-postbacks.yaml`, or the default without the file.
    package func partnerPostbacksTopic() throws(ConfigurationError) -> String {
        has(program: Self.partnerPostbacksName)
            ? try partnerPostbacks().topic : Self.partnerPostbacksName
    }
}

// MARK: Reloaded files

extension PipelineDirectory {
    /// The parts that programs reload while they run. A program can start without a part. Once it has read the part,
    /// it requires it: a file that is removed, emptied or hidden by a mount by mistake must not remove all keys or
    /// partners.
    package enum ReadAgain: String, Sendable {
        case catalog = "catalog.yaml"
        case collector = "collector.yaml"
        case partners
    }

    /// Whether it exists and, if it is a file, is not empty.
    package func has(_ part: ReadAgain) -> Bool {
        let file = "\(path)/\(part.rawValue)"
        guard part != .partners else { return source.isDirectory(file) }
        guard source.exists(file) else { return false }
        do {
            return try content(part, isRequired: false) != nil
        } catch {
            // A file with an error is not empty.
            return true
        }
    }

    /// The root of a file; nil if the file is missing or has only comments.
    package func content(
        _ part: ReadAgain, isRequired: Bool
    ) throws(ConfigurationError) -> ConfigurationNode? {
        let file = "\(path)/\(part.rawValue)"
        guard try names().contains(part.rawValue) else {
            if isRequired { throw gone(part) }
            return nil
        }
        let content = try source.content(of: file)
        if content == nil, isRequired {
            throw ConfigurationError(
                kind: .unreadable, file: file,
                explanation:
                    "is empty, or no longer a file: restore it, or restart to work without it")
        }
        return content
    }

    private func gone(_ part: ReadAgain) -> ConfigurationError {
        ConfigurationError(
            kind: .missingFile, file: "\(path)/\(part.rawValue)",
            explanation: "no longer exists: restore it, or restart to work without it")
    }
}

extension PipelineDirectory {
    package static let catalogName = ReadAgain.catalog.rawValue
    package static let modelsName = "conversion-models"
    package static let partnersName = ReadAgain.partners.rawValue

    package func conversionModel(_ name: String) throws(ConfigurationError) -> ConversionModel {
        try conversionModel(at: "\(path)/\(Self.modelsName)/\(name)")
    }

    private func conversionModel(
        at file: String
    ) throws(ConfigurationError) -> ConversionModel {
        let stem = (file.split(separator: "/").last.map(String.init) ?? file).withoutYAML
        guard let app = Int64(stem), app > 0, String(app) == stem else {
            throw Self.unknownFile(
                file, "name it after its app, for example 525463029.yaml, or remove it")
        }
        return try ConversionModelFile.model(root(of: file), fileApp: app)
    }

    package func partner(_ name: String) throws(ConfigurationError) -> Partner {
        let file = "\(path)/\(Self.partnersName)/\(name)"
        let stem = name.withoutYAML
        guard PartnerFile.isName(stem) else {
            throw Self.unknownFile(
                file, "name it after the partner, in lower-case letters, digits and dashes")
        }
        return try PartnerFile.partner(root(of: file), fileName: stem)
    }

    /// The names of the YAML files in the directory, or in a folder of it that may be missing; in bytewise order.
    package func names(in folder: String? = nil) throws(ConfigurationError) -> [String] {
        guard let folder else { return try names(inDirectory: path) }
        _ = try names()
        let directory = "\(path)/\(folder)"
        return source.exists(directory) ? try names(inDirectory: directory) : []
    }

    private func names(
        inDirectory directory: String
    ) throws(ConfigurationError) -> [String] {
        guard source.isDirectory(directory) else {
            throw ConfigurationError(
                kind: .missingFile, file: directory,
                explanation:
                    "is not a directory: give --pipelines the directory of the configuration")
        }
        guard let all = source.names(in: directory) else {
            throw ConfigurationError(
                kind: .unreadable, file: directory,
                explanation: "cannot be listed: grant this user read access")
        }
        return all.filter(\.isConfigurationName)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// The root of a file; an empty mapping for an empty file.
    package func root(of file: String) throws(ConfigurationError) -> ConfigurationNode {
        try source.content(of: file) ?? ConfigurationNode(ofEmpty: file)
    }

    /// Whether a program has a file.
    package func has(program: String) -> Bool {
        source.exists("\(path)/\(program).yaml")
    }

    private func required(_ program: String) throws(ConfigurationError) -> String {
        // Reports a missing directory as such.
        _ = try names()
        let file = "\(path)/\(program).yaml"
        guard has(program: program) else {
            throw ConfigurationError(
                kind: .missingFile,
                file: file,
                explanation:
                    "does not exist: copy the file that Weir ships as pipelines/\(program).yaml")
        }
        return file
    }

    package static func unknownFile(_ file: String, _ explanation: String) -> ConfigurationError {
        ConfigurationError(kind: .unknownFile, file: file, explanation: explanation)
    }
}

extension String {
    /// Whether it is `.yaml` or `.yml`, not hidden and not a test.
    fileprivate var isConfigurationName: Bool {
        let isYAML = hasSuffix(".yaml") || hasSuffix(".yml")
        let isTest = hasSuffix(".test.yaml") || hasSuffix(".test.yml")
        return isYAML && !isTest && !hasPrefix(".")
    }

    /// Without `.yaml`. A name with `.yml` stays as it is, and is therefore not valid.
    package var withoutYAML: String {
        hasSuffix(".yaml") ? String(dropLast(".yaml".count)) : self
    }
}

/// The source of configuration files. All readers use it, so that the meaning of values does not depend on a disk.
package protocol ConfigurationSource: Sendable {
    /// The root of a YAML file; nil if it has only comments.
    func content(of file: String) throws(ConfigurationError) -> ConfigurationNode?

    /// The text of a file, without a byte order mark.
    func text(of file: String) throws(ConfigurationError) -> String

    /// The names in a directory, in any order; nil if it cannot be listed.
    func names(in directory: String) -> [String]?

    /// Whether there is an entry at a path. A dangling link counts: it is there on purpose, and reading it reports
    /// the fault.
    func isNamed(_ path: String) -> Bool

    /// Whether there is a file or directory at a path, or at the end of its links.
    func exists(_ path: String) -> Bool
    func isDirectory(_ path: String) -> Bool
}

extension ConfigurationNode {
    /// The root of a file that has only comments: an empty mapping.
    package init(ofEmpty file: String) { self.init(file: file, root: EmptyDocument()) }
}

private struct EmptyDocument: ConfigurationSyntax {
    let line: Int? = nil
    let tag = ""
    let shape = ConfigurationShape.mapping([])
}
