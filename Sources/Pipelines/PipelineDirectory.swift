import ConversionModels
import Foundation

/// The directory that holds Weir's configuration (`--pipelines`).
///
/// Every method reads its files anew. Files named `*.test.yaml`, hidden files and files of other
/// kinds are left alone; any other YAML file with a name that nothing reads is an error.
package struct PipelineDirectory: Sendable {
    /// The path as it was given; errors name files under it.
    package let path: String

    /// Names a directory; nothing is read yet.
    package init(_ path: String) {
        self.path = path
    }

    /// The settings of `weir-bids`.
    package func bids() throws(ConfigurationError) -> BidsPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try bidsPipeline()
    }

    /// The settings of `weir-impressions`.
    package func impressions() throws(ConfigurationError) -> ImpressionsPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try impressionsPipeline()
    }

    /// The settings of `weir-overlay-clicks`.
    package func overlayClicks() throws(ConfigurationError) -> OverlayClicksPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try overlayClicksPipeline()
    }

    /// The settings of `weir-postbacks`.
    package func postbacks() throws(ConfigurationError) -> PostbacksPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try postbacksPipeline()
    }

    /// The settings of `weir-store-notifications`.
    package func storeNotifications() throws(ConfigurationError) -> StoreNotificationsPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try storeNotificationsPipeline()
    }

    /// The settings of `weir-conversion-updates`.
    package func conversionUpdates() throws(ConfigurationError) -> ConversionUpdatesPipeline {
        if let unknown = try unknownFiles().first { throw unknown }
        return try conversionUpdatesPipeline()
    }

    /// The catalog; an empty one when there is no `catalog.yaml`.
    ///
    /// Throws when the file has to be there, and is not, or is empty.
    package func catalog(isRequired: Bool = false) throws(ConfigurationError) -> Catalog {
        try content(.catalog, isRequired: isRequired).map(Catalog.init) ?? Catalog()
    }

    /// The conversion models by ascending app; none when there is no `conversion-models`.
    package func conversionModels() throws(ConfigurationError) -> [ConversionModel] {
        var models: [ConversionModel] = []
        for name in try names(in: Self.modelsName) { models.append(try conversionModel(name)) }
        return models.sorted { $0.app < $1.app }
    }

    /// The conversion models of a directory that is named for them alone: the files of its folder
    /// `conversion-models`, else its own.
    ///
    /// - Throws: also when there is no model at all.
    package func candidateModels() throws(ConfigurationError) -> [ConversionModel] {
        let hasFolder = FileManager.default.fileExists(atPath: "\(path)/\(Self.modelsName)")
        let folder = hasFolder ? "\(path)/\(Self.modelsName)" : path
        var models: [ConversionModel] = []
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: folder, isDirectory: &isDirectory),
            isDirectory.boolValue
        else {
            throw ConfigurationError(
                kind: .missingFile, file: folder,
                words: "is no directory: give --models the directory of the candidate models")
        }
        for name in try PipelineDirectory(folder).names() {
            models.append(try Self.conversionModel(at: "\(folder)/\(name)"))
        }
        guard !models.isEmpty else {
            throw ConfigurationError(
                kind: .missingFile, file: folder,
                words: "holds no conversion model: put files there as 525463029.yaml")
        }
        return models.sorted { $0.app < $1.app }
    }

    /// The partners by name, bytewise; none when there is no `partners`.
    ///
    /// Throws when the directory has to be there, and is not.
    package func partners(isRequired: Bool = false) throws(ConfigurationError) -> [Partner] {
        if isRequired, !has(.partners) { throw gone(.partners) }
        var partners: [Partner] = []
        for name in try names(in: Self.partnersName) { partners.append(try partner(name)) }
        return partners.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }
}

// MARK: What is read again

extension PipelineDirectory {
    /// What programs read again while they work, by its name here. A program that starts may do without; one
    /// that works requires what was there before: a file that was removed, emptied or covered by a mount by mistake
    /// is not to take every key or partner away.
    package enum ReadAgain: String, Sendable {
        case catalog = "catalog.yaml"
        case collector = "collector.yaml"
        case partners
    }

    /// Whether it is there, and a file is not empty.
    package func has(_ part: ReadAgain) -> Bool {
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(
            atPath: "\(path)/\(part.rawValue)", isDirectory: &isDirectory)
        guard exists, part != .partners else { return exists && isDirectory.boolValue }
        do {
            return try content(part, isRequired: false) != nil
        } catch {
            // A file that is wrong is not empty.
            return true
        }
    }

    /// The topmost node of a file; nil when it is absent or has nothing but comments.
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
                words: "is empty, or no file any more: restore it, or restart to work without it")
        }
        return content
    }

    private func gone(_ part: ReadAgain) -> ConfigurationError {
        ConfigurationError(
            kind: .missingFile, file: "\(path)/\(part.rawValue)",
            words: "is not there any more: restore it, or restart to work without it")
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
                file,
                "name it after the partner, in lower-case letters, digits and dashes"
            )
        }
        return try PartnerFile.partner(ConfigurationFile.read(file), fileName: stem)
    }

    func bidsPipeline() throws(ConfigurationError) -> BidsPipeline {
        try BidsPipeline(ConfigurationFile.read(required(.bids)))
    }

    func impressionsPipeline() throws(ConfigurationError) -> ImpressionsPipeline {
        try ImpressionsPipeline(ConfigurationFile.read(required(.impressions)))
    }

    func overlayClicksPipeline() throws(ConfigurationError) -> OverlayClicksPipeline {
        try OverlayClicksPipeline(ConfigurationFile.read(required(.overlayClicks)))
    }

    func postbacksPipeline() throws(ConfigurationError) -> PostbacksPipeline {
        try PostbacksPipeline(ConfigurationFile.read(required(.postbacks)))
    }

    func storeNotificationsPipeline() throws(ConfigurationError) -> StoreNotificationsPipeline {
        try StoreNotificationsPipeline(
            ConfigurationFile.read(required(.storeNotifications)), directory: path)
    }

    func conversionUpdatesPipeline() throws(ConfigurationError) -> ConversionUpdatesPipeline {
        try ConversionUpdatesPipeline(ConfigurationFile.read(required(.conversionUpdates)))
    }

    /// A fault for each file at the top whose name nothing reads.
    func unknownFiles() throws(ConfigurationError) -> [ConfigurationError] {
        let known =
            PipelineStream.allCases.map(\.fileName)
            + [Self.catalogName, Self.collectorName, Self.kafkaName]
        return try names().filter { !known.contains($0) }.map { name in
            Self.unknownFile(
                "\(path)/\(name)",
                "nothing reads it; known here: \(known.joined(separator: ", "))"
            )
        }
    }

    /// Names of the YAML files in the directory, or in a folder of it that may be absent; bytewise.
    func names(in folder: String? = nil) throws(ConfigurationError) -> [String] {
        if folder != nil { _ = try names() }
        let directory = folder.map { "\(path)/\($0)" } ?? path
        var isDirectory: ObjCBool = false
        let exists = FileManager.default.fileExists(atPath: directory, isDirectory: &isDirectory)
        if folder != nil, !exists { return [] }
        guard isDirectory.boolValue, exists else {
            throw ConfigurationError(
                kind: .missingFile,
                file: directory,
                words: "is no directory: give --pipelines the directory of the configuration"
            )
        }
        let all: [String]
        do {
            all = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw ConfigurationError(
                kind: .unreadable,
                file: directory,
                words: "cannot be listed: let this user read the directory"
            )
        }
        return all.filter(\.isConfigurationName)
            .sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    }

    /// Whether a stream has a file here.
    package func has(_ stream: PipelineStream) -> Bool {
        FileManager.default.fileExists(atPath: "\(path)/\(stream.fileName)")
    }

    func required(_ stream: PipelineStream) throws(ConfigurationError) -> String {
        let file = "\(path)/\(stream.fileName)"
        guard has(stream) else {
            throw ConfigurationError(
                kind: .missingFile,
                file: file,
                words:
                    "does not exist: copy the one that Weir ships as pipelines/\(stream.fileName)"
            )
        }
        return file
    }

    private static func unknownFile(_ file: String, _ words: String) -> ConfigurationError {
        ConfigurationError(kind: .unknownFile, file: file, words: words)
    }
}

extension String {
    /// A YAML file of either ending that is neither hidden nor a test.
    fileprivate var isConfigurationName: Bool {
        let isYAML = hasSuffix(".yaml") || hasSuffix(".yml")
        let isTest = hasSuffix(".test.yaml") || hasSuffix(".test.yml")
        return isYAML && !isTest && !hasPrefix(".")
    }

    /// Without `.yaml`; a name of another ending is left as it is, and so is no name of ours.
    fileprivate var withoutYAML: String {
        hasSuffix(".yaml") ? String(dropLast(".yaml".count)) : self
    }
}
