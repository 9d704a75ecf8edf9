import ArgumentParser

/// Where the topics are described.
struct TopicsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory that describes the topics (WEIR_TOPICS; default: topics).",
            valueName: "dir"))
    var topics: String?

    /// The directory of the descriptions, there or not.
    var directory: TopicDirectory { TopicDirectory(Environment().topics(topics)) }
}
