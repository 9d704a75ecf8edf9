import ArgumentParser
import EventLog

/// Where the event log is.
struct LogOptions: ParsableArguments {
    @Option(
        help: "The event log: sqlite:PATH (WEIR_LOG; default: sqlite:DATA/log.sqlite).")
    var log: String?

    /// Opens the log.
    func open(
        _ mode: EmbeddedLog.Mode, dataDirectories: [String]
    ) throws -> EmbeddedLog {
        let text = Environment().log(log, dataDirectories: dataDirectories)
        return try Self.open(LogAddress(text), mode)
    }

    static func open(_ address: LogAddress, _ mode: EmbeddedLog.Mode) throws -> EmbeddedLog {
        guard let log = try address.openEmbedded(mode: mode) else {
            throw CommandError.failure(
                "\(address) is Kafka, and this build reads the embedded log only: "
                    + "give --log sqlite:PATH")
        }
        return log
    }
}
