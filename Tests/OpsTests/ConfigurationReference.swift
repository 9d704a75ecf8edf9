import ConfigurationFiles
import ConfigurationValues
import Streams

/// Every key of the configuration files, as docs/reference/configuration.md lists them.
struct ConfigurationReference {
    private let text: MarkdownText

    init() throws { text = try MarkdownText(page: "reference", names: ["weir-bids"]) }

    var lines: [String] {
        var lines = section(
            "Files of workers", "Each worker reads `STREAM.yaml`.", StreamSettings.keys)
        for stream in allStreams {
            // Keys of all workers come first.
            let keys =
                StreamFile.keys(defaultWindowSeconds: stream.defaultWindowSeconds)
                .dropFirst(StreamSettings.keys.count) + stream.fileKeys
            guard !keys.isEmpty else { continue }
            lines += section(
                "`\(stream.streamName).yaml`", "In addition to the keys of every worker:",
                Array(keys))
        }
        let delivery = Set(StreamSettings.partnerPostbacksKeys.map(\.name))
        let missing = StreamSettings.keys.map(\.name).filter { !delivery.contains($0) }
        lines += section(
            "`partner-postbacks.yaml`",
            "The keys of every worker, except \(missing.map { "`\($0)`" }.joined(separator: ", ")).",
            [])
        lines += section("`kafka.yaml`", "For all programs.", KafkaFile.keys)
        lines += section(
            "`collector.yaml`", "For `weir-collector`, and partly for the dashboard.",
            CollectorPipeline.keys)
        lines += section("`catalog.yaml`", "Names for reports and partners.", Catalog.keys)
        lines += section("`watch.yaml`", "For `weir watch`.", WatchFile.keys)
        lines += section("`reports/NAME.yaml`", "For `weir report NAME`.", ReportFile.keys)
        return lines.dropLast()
    }

    private func section(_ title: String, _ use: String, _ keys: [ConfigurationKey]) -> [String] {
        ["## \(title)", ""] + text.paragraphs(use) + [""]
            + (keys.isEmpty ? [] : items(keys, prefix: "") + [""])
    }

    private func items(_ keys: [ConfigurationKey], prefix: String) -> [String] {
        keys.flatMap { key in
            let notes = [
                key.formText, key.isRequired ? "required" : "",
                key.defaultText.map { "default \($0)" } ?? "",
            ]
            let name = prefix + key.name
            let suffix =
                switch key.form {
                case .list: "[]"
                case .names: ".*"
                default: ""
                }
            return text.item(
                "`\(name)` (\(notes.filter { !$0.isEmpty }.joined(separator: "; "))): \(key.explanation)"
            )
                + items(key.keys, prefix: "\(name)\(suffix).")
        }
    }
}
