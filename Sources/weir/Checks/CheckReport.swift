import ConfigurationFiles
import ConfigurationValues
import Deliveries
import Engine
import EventLog
import Program
import Reports
import Streams
import Wording

struct CheckReport {
    enum Finding: Equatable {
        case right(String)
        case wrong(String)
        /// Valid, but probably not intended.
        case doubtful(String)
    }

    private(set) var findings: [Finding] = []

    var wrongCount: Int { findings.count { if case .wrong = $0 { true } else { false } } }

    var text: String {
        findings.map { finding in
            switch finding {
            case .right(let explanation): "ok: \(explanation.withoutControls)\n"
            case .wrong(let explanation): "wrong: \(explanation.withoutControls)\n"
            case .doubtful(let explanation): "warning: \(explanation.withoutControls)\n"
            }
        }.joined()
    }

    mutating func add(right explanation: String) { findings.append(.right(explanation)) }

    mutating func add(doubtful explanation: String) { findings.append(.doubtful(explanation)) }

    /// Notes a fault once, because several programs may find the same one.
    mutating func add(wrong explanation: String) {
        guard !findings.contains(.wrong(explanation)) else { return }
        findings.append(.wrong(explanation))
    }
}

extension CheckReport {
    /// Reports which files are read, and the order of the places where they can be.
    mutating func add(_ pipelines: FilesPlace, _ topics: FilesPlace) {
        for (name, files) in [("configuration", pipelines), ("topics", topics)] {
            add(right: "reads the \(name) \(files.explanation), the first of \(files.kind.order)")
        }
        guard pipelines.origin == .program else { return }
        add(
            doubtful:
                "this is the built-in example, with its apps and models: write your own "
                + "configuration with weir init")
    }

    /// Reads the whole configuration, then runs the startup checks of each program.
    mutating func check(_ directory: PipelineDirectory) {
        let faults = directory.check()
        for fault in faults { add(wrong: fault.description) }
        guard faults.isEmpty else { return }
        let wrongBefore = wrongCount
        checkPrograms(directory, log: nil)
        do throws(ConfigurationError) {
            let catalog = try directory.catalog()
            let streams = directory.programs.filter { directory.has(program: $0) }
            guard !streams.isEmpty else {
                return add(
                    wrong: "\(directory.path): it contains no worker file, such as bids.yaml"
                )
            }
            let models = try directory.conversionModels().count
            let partners = try directory.partners()
            for partner in partners { _ = try RequestTemplate(partner.delivery) }
            if directory.hasWatch {
                let watch = try directory.watch()
                _ = try Watch(watch)
                add(
                    PartnerCheck.all([watch.webhook].compactMap(\.self), directory: directory.path))
            } else {
                add(
                    right:
                        "Weir watches nothing: weir watch fails, and the page Warnings is empty, until "
                        + "\(directory.path)/watch.yaml exists. Copy the file that Weir ships in pipelines"
                )
            }
            for name in try directory.reportNames() {
                let file = try directory.report(name)
                attempt { _ in try ReportRequest(file).requireColumns(as: file) }
            }
            guard wrongCount == wrongBefore else { return }
            add(
                right:
                    "configuration \(directory.path): \(streams.joined(separator: ", ")), "
                    + "\(counted(models, "conversion model")), \(counted(partners.count, "partner"))"
            )
            for doubt in catalog.doubts { add(doubtful: doubt) }
        } catch {
            add(wrong: error.description)
        }
    }
}

extension CheckReport {
    /// Compares the topics of the log with their descriptions.
    ///
    /// A missing topic is allowed: users of one stream do not need the topics of others, and publishing creates them. A
    /// store without its topic is wrong; the check of the store reports that.
    mutating func check(_ log: any LogBackend, against directory: TopicDirectory) throws(LogError) {
        let topics = try log.topics()
        add(right: "log \(log.address): \(counted(topics.count, "topic"))")
        let described: [DescribedTopic]
        do throws(CommandError) {
            described = try directory.topics()
        } catch {
            add(wrong: error.explanation ?? directory.path)
            return
        }
        let wrongBefore = wrongCount
        var missing: [String] = []
        var unknown: [(name: String, explanation: String)] = []
        var settings = TopicSettings(of: log)
        for topic in described {
            guard let found = topics.first(where: { $0.name == topic.name }) else {
                missing.append(topic.name)
                continue
            }
            let comparison = TopicComparison(topic, found, &settings)
            for drift in comparison.drifts {
                add(
                    wrong: "topic \(topic.name) in \(log.address) has \(drift.explanation): "
                        + drift.remedy)
            }
            if let explanation = comparison.unknown { unknown.append((topic.name, explanation)) }
        }
        if let explanation = unknown.first?.explanation {
            let names = unknown.map(\.name).joined(separator: ", ")
            let topics = unknown.count == 1 ? "topic" : "topics"
            add(doubtful: "cannot compare the settings of \(topics) \(names): \(explanation)")
        }
        guard wrongCount == wrongBefore else { return }
        guard !missing.isEmpty else {
            return add(right: "topics \(directory.path): all \(described.count) are in the log")
        }
        add(
            right: "topics \(directory.path): \(described.count - missing.count) of "
                + "\(described.count) are in the log. A publish creates the others, or run weir "
                + "topics apply: \(missing.joined(separator: ", "))")
    }
}

extension Catalog {
    /// Descriptions of entries that are valid, but probably not intended.
    var doubts: [String] {
        campaigns.flatMap(doubts) + suffixCollisions.map(\.explanation)
    }

    private func doubts(_ campaign: CatalogCampaign) -> [String] {
        var doubts: [String] = []
        if campaign.campaignID == nil, campaign.sourceIdentifier == nil, campaign.offers.isEmpty {
            doubts.append(
                "it has no id of a campaign: add a campaign_id, a source_identifier or "
                    + "offers")
        }
        // A catalog without network or app names shows their ids in reports by intention.
        if !networks.isEmpty, networks[campaign.network] == nil {
            doubts.append(
                "its network \(campaign.network) is not under networks: correct it, or add "
                    + "it there")
        }
        if !apps.isEmpty, apps[campaign.app] == nil {
            doubts.append(
                "its app \(campaign.app) is not under apps: correct it, or add it there")
        }
        return doubts.map { "catalog: campaign '\(campaign.name)': \($0)" }
    }
}

extension Catalog {
    /// The networks without an entry, in order. Empty for a catalog without networks and campaigns.
    func unknownNetworks(among ids: some Sequence<String>) -> [String] {
        guard !networks.isEmpty || !campaigns.isEmpty else { return [] }
        let named = Set(networks.keys).union(campaigns.map(\.network))
        return Set(ids.map { $0.lowercased() }).subtracting(named).sorted()
    }

    static func explanation(ofUnknown network: String, _ directory: String) -> String {
        "costs of network '\(network.withOtherLettersEscaped)': \(directory)/catalog.yaml does not contain this network, so "
            + "that reports cannot join its costs with a campaign. Add it under networks, or correct "
            + "the id, import the costs again, and set those of the wrong id to 0"
    }
}

extension CheckReport {
    /// Warns of folded costs for networks that the catalog does not contain.
    mutating func checkCosts(in directories: [String], _ pipelines: PipelineDirectory) {
        attempt { report in
            let stores = try OpenStores(directories: directories)
            let request = ReportRequest(
                name: CostsFold.streamName, grouping: .columns(["ad_network_id"]))
            let ids = try stores.dump(request).rows.compactMap { row -> String? in
                guard case .text(let id)? = row.columns.first else { return nil }
                return id
            }
            let catalog = pipelines.exists ? try pipelines.catalog() : Catalog()
            for network in catalog.unknownNetworks(among: ids.filter { !$0.isEmpty }) {
                report.add(doubtful: Catalog.explanation(ofUnknown: network, pipelines.path))
            }
        }
    }
}

extension SuffixCollision {
    fileprivate var explanation: String {
        let names = campaigns.map { "'\($0.name)'" }.joined(separator: ", ")
        return
            "catalog: a postback of \(network) for app \(app) with the source identifier '\(suffix)' is ambiguous: "
            + "the identifiers of \(names) end with it. Give them source identifiers with different endings"
    }
}

extension String {
    /// Escapes non-ASCII characters as `\u{430}`: a letter of another script may look like the intended one.
    fileprivate var withOtherLettersEscaped: String {
        unicodeScalars.map { scalar in
            scalar.isASCII ? String(scalar) : "\\u{\(String(scalar.value, radix: 16))}"
        }.joined()
    }
}
