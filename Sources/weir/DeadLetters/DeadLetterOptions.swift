import ArgumentParser
import Inspection

/// Which dead letters are meant.
struct DeadLetterOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Only of this topic; may be given several times (default: all).", valueName: "topic"))
    var topic: [String] = []
    @Option(
        help: ArgumentHelp(
            "Only with this reason; may be given several times (default: all of rejected records).",
            discussion: DeadLetterQuery.knownReasons.joined(separator: ", ") + ".",
            valueName: "reason"))
    var reason: [String] = []
    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only with this value in this column of weir dump rejected; may be given several times.",
            valueName: "column=value"))
    var conditions: [String] = []
    @OptionGroup var times: TimeOptions
    @OptionGroup var data: DataOptions

    /// Whether any of them was given.
    var isNarrowed: Bool {
        !topic.isEmpty || !reason.isEmpty || !conditions.isEmpty || times.isGiven
    }

    /// The question that they ask.
    func query() throws -> DeadLetterQuery {
        var query = DeadLetterQuery()
        query.topics = Set(topic)
        query.reasons = Set(reason)
        if let unknown = reason.first(where: { !DeadLetterQuery.knownReasons.contains($0) }) {
            throw CommandError.usage(
                "no reason '\(unknown)': there are "
                    + DeadLetterQuery.knownReasons.joined(separator: ", "))
        }
        (query.sinceMilliseconds, query.untilMilliseconds) = try times.milliseconds()
        query.conditions = try conditions.map { try DumpQuery.Condition(argument: $0) }
        return query
    }

    func stores() throws -> StoreSet { try StoreSet(directories: data.directories) }
}
