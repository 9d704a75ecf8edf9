import ArgumentParser
import Streams

/// `weir decode`
struct DecodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "decode",
        abstract: "Says what a conversion value means under each version of an app's model.",
        discussion: "A coarse value is decoded for each window: 0, 1 and 2.")

    @Option(help: "App Store id of the app.")
    var app: Int64
    @Argument(help: "0 to 63, low, medium or high.")
    var value: String
    @OptionGroup var pipelines: PipelinesOptions
    @Option(help: "table or json (WEIR_FORMAT; default: table).")
    var format: String?

    func run() throws {
        let format = try Environment().format(format, default: ReportFormat.table)
        let value = try ConversionValue(value)
        let directory = pipelines.directory
        let models = try directory.conversionModels()
        guard let model = models.first(where: { $0.app == app }) else {
            let known = models.map { "\($0.app)" }.joined(separator: ", ")
            throw CommandError.failure(
                "no model of app \(app) in \(directory.path)/conversion-models"
                    + (known.isEmpty ? ": write \(app).yaml there" : ": there are \(known)"))
        }
        let meanings = ValueMeaning.all(of: value, in: model)
        let output = BufferedOutput()
        switch format {
        case .table: try output.write(meanings.map(\.table).joined(separator: "\n"))
        case .json:
            var json = JSONText()
            json.array { json in for meaning in meanings { meaning.write(to: &json) } }
            try output.write(json.text.withoutControlsInJSON + "\n")
        }
        try output.flush()
    }
}
