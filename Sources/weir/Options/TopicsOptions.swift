import ArgumentParser
import Pipelines

/// Where the topics are described.
struct TopicsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory that describes the topics (WEIR_TOPICS; default: topics).",
            valueName: "dir"))
    var topics: String?

    /// The directory of the descriptions, with the topic of documents for partners under the name that the
    /// configuration has for it. What is wrong there is said by whoever reads it.
    func directory(_ pipelines: PipelineDirectory) -> TopicDirectory {
        var directory = directory
        if let name = try? pipelines.partnerPostbacksTopic() {
            directory.renamed[PipelineStream.partnerPostbacks.rawValue] = name
        }
        return directory
    }

    /// The directory of the descriptions, there or not.
    var directory: TopicDirectory { TopicDirectory(Environment().topics(topics)) }
}
