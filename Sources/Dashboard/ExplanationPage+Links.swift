import History
import Reports
import Streams
import Wording

// Where a reader can go from an explanation.

extension ExplanationPage {
    /// Links to both lists as files, and the command.
    func writeFiles(_ report: ExplainReport, to html: inout HTML) {
        let most = Int64(Self.mostRecordsInFile)
        let isCut = max(report.countedCount, report.leftOutCount) > most
        let links = [("CSV", DumpFormat.csv), ("JSON", .json)].map { name, format in
            (name, PageAddress("/explain/\(request.name).\(format.rawValue)", ownParameters))
        }
        let note =
            isCut ? "of the first \(ShownValue.grouped(Int128(most))) records of each list" : ""
        html.files([HTML.Files(links: links, command: command, note: note)])
    }

    var ownParameters: [(name: String, value: String)] {
        request.parameters + (measure.map { [("measure", $0)] } ?? [])
            + (from.map { [("from", $0.text)] } ?? [])
    }

    var command: String {
        request.command(
            "explain",
            (measure.map { ["--measure", $0] } ?? []) + (from.map { ["--from", $0.text] } ?? [])
                + (verifies ? ["--verify"] : []) + source.clockWords)
    }

    /// Links to related pages: earlier values, changes, the evidence.
    func writeDoors(to html: inout HTML) {
        var asked = request
        // These pages show the number itself.
        if asked.grouping == .all { asked.by = [] }
        let parameters = asked.parameters.filter { $0.name != "as_of" }
        html.element("section", ["class": "doors"]) { html in
            html.element("h2", text: "Next steps")
            func form(_ path: String, _ label: String, _ name: StaticString, _ button: String) {
                html.element("form", ["action": path, "method": "get"]) { html in
                    for (name, value) in parameters {
                        html.element("input", ["type": "hidden", "name": name, "value": value])
                    }
                    if let measure {
                        // Rows have the parts of a derived measure.
                        let parts =
                            DerivedMeasure.named(measure, of: request.name)?.measures ?? [measure]
                        html.element(
                            "input",
                            [
                                "type": "hidden", "name": "measures",
                                "value": parts.joined(separator: ","),
                            ])
                    }
                    html.element("label") { html in
                        html.text(label)
                        html.element(
                            "input", ["type": "date", "name": "\(name)", "required": ""])
                    }
                    html.element("button", ["type": "submit"], text: button)
                }
            }
            form("/dump/\(request.name)", "Show the value as of ", "as_of", "Show")
            let isOfSums = request.has(.sums)
            if isOfSums {
                form("/changes/\(request.name)", "Show changes since ", "from", "Show")
            }
            if context.scope.isEmpty, isOfSums {
                html.element("p") { html in
                    html.link(
                        "Download as evidence",
                        to: PageAddress(
                            "/evidence/\(request.name)",
                            ownParameters.filter { !["as_of", "from"].contains($0.name) }))
                    html.text(
                        ": a file with these records, their signatures and the configuration. weir evidence verify proves the number from it on any machine."
                    )
                }
            }
            html.element("pre", text: command)
        }
    }
}
