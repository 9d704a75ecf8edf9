import ArgumentParser
import Foundation
import Pipelines

/// Where the configuration is.
struct PipelinesOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The directory of the configuration (WEIR_PIPELINES; default: pipelines).",
            valueName: "dir"))
    var pipelines: String?

    /// The directory of the configuration, there or not.
    var directory: PipelineDirectory { PipelineDirectory(Environment().pipelines(pipelines)) }
}

extension PipelineDirectory {
    /// Whether there is something to read.
    var exists: Bool { FileManager.default.fileExists(atPath: path) }
}
