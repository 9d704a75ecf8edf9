import ArgumentParser
import Collector
import ConfigurationFiles
import Foundation
import Logging
import Monitoring
import Program

struct DashboardCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Serves the numbers of stores as pages, each number a link to its records.",
        discussion: """
            Pages for a browser: today, campaigns, cohorts, publisher, subscriptions, postbacks, partners, \
            operation and the last records. Each number leads to its explanation: how it adds up, the records \
            behind it and what was left out. Each table is there as CSV and JSON too, and names the command \
            that prints it. Pages are read-only, need no JavaScript, and ask nothing of any other host. \
            weir up serves them by itself.

              weir dashboard --data data --log sqlite:data/log.sqlite
              weir dashboard --listen 0.0.0.0:8090 --data data-a --data data-b --log kafka://localhost:9092

            On a loopback address whoever is on the machine may read. Elsewhere readers sign in with a token, \
            which weir token make --read makes; token_keys of collector.yaml has its key, and TLS is the \
            business of a proxy before it.
            """)

    static let defaultAddress = "127.0.0.1:8090"

    @Option(
        help: ArgumentHelp(
            "Where to listen (WEIR_DASHBOARD; default: \(Self.defaultAddress)). Port 0 picks a free one.",
            valueName: "host:port"))
    var listen: String?
    @OptionGroup var source: SourceOptions

    private static let pollSeconds = 0.1

    func run() throws {
        StopSignal.listen()
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, level: .notice) }
        guard let address = try Self.address(listen, option: "--listen") else {
            throw CommandError.usage("WEIR_DASHBOARD is off: give --listen HOST:PORT")
        }
        let server = try Self.server(at: address, source)
        defer { server.stop() }
        Console.write("dashboard: http://\(server.address ?? address)")
        while !StopSignal.ofProcess.isRequested { Thread.sleep(forTimeInterval: Self.pollSeconds) }
    }

    /// The address that an option or the environment names; nil where it is off.
    static func address(_ text: String?, option: String) throws -> ListenAddress? {
        let text = text ?? Environment()["WEIR_DASHBOARD"] ?? defaultAddress
        guard text != Environment.off else { return nil }
        guard let address = ListenAddress(text) else {
            throw CommandError.usage(
                "\(option) '\(text)' is no address: write HOST:PORT, as \(defaultAddress), or off")
        }
        return address
    }

    /// Serves pages of stores; elsewhere than on a loopback address only with keys to sign in by.
    ///
    /// - Parameter failures: the parts of this process that do not work.
    static func server(
        at address: ListenAddress, _ source: SourceOptions,
        failures: @escaping @Sendable () -> [PartFailure] = { [] }
    ) throws -> DashboardServer {
        let isOpen = DashboardAccess.isLoopback(address.host)
        let directory = source.pipelines.directory
        let keys =
            isOpen ? nil : TokenKeys(directory.exists ? try directory.collector().tokenKeys : [])
        if let keys, keys.isEmpty {
            throw CommandError.failure(
                "dashboard: \(address) can be reached from other machines, and \(directory.path)/collector.yaml has no token_keys for readers to sign in by: make one with weir token new-key --out FILE, or listen on 127.0.0.1"
            )
        }
        return try DashboardServer(
            at: address, source: source, access: DashboardAccess(keys: keys),
            logger: Logger(label: "weir-dashboard"), failures: failures)
    }
}
