import ArgumentParser
import Collector
import ConfigurationFiles
import ConfigurationValues
import Dashboard
import Foundation
import History
import Logging
import Monitoring
import Program
import Tokens

struct DashboardCommand: InstallationCommand {
    static let configuration = CommandConfiguration(
        commandName: "dashboard",
        abstract: "Serves the numbers of stores as web pages, with links to the records.",
        discussion: """
            Serves pages for a browser: today, campaigns, cohorts, publisher, subscriptions, postbacks, \
            partners, operation and the last records. Each number links to its explanation: the sum, its records \
            and what was left out. Each table has CSV and JSON versions and shows the command that prints it. \
            Pages are read-only, need no JavaScript and load nothing from other hosts. weir up serves them too.

              weir dashboard --data data --log sqlite:data/log.sqlite
              weir dashboard --listen 0.0.0.0:8090 --data data-a --data data-b --log kafka://localhost:9092

            On a loopback address, every user of the machine can read. On other addresses, readers sign in with \
            a token from weir token make --read. The token's key is under token_keys in collector.yaml. Use a \
            proxy for TLS.

            Readers change nothing. An operator who has signed in with a token from weir token make --operate \
            can requeue dead letters, retry deliveries and end the pause of a partner. The log of actions has \
            an entry for each (weir actions).
            """)

    static let defaultAddress = "127.0.0.1:8090"

    @Option(
        help: ArgumentHelp(
            "Where to listen (WEIR_DASHBOARD; default: \(Self.defaultAddress)). Port 0 picks a free one.",
            valueName: "host:port"))
    var listen: String?
    @OptionGroup var proxies: TrustedProxyOptions
    @OptionGroup var data: DataOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var archive: ArchiveOptions
    @OptionGroup var pipelines: PipelinesOptions
    @OptionGroup var clock: ClockOptions

    private static let pollSeconds = 0.1

    func run() throws {
        StopSignal.listen()
        LoggingSystem.bootstrap { ConsoleLogHandler(label: $0, level: .notice) }
        guard let address = try Self.address(listen, option: "--listen") else {
            throw CommandError.usage(
                "WEIR_DASHBOARD is off: give --listen HOST:PORT to serve pages")
        }
        let server = try Self.server(at: address, installation, trusted: proxies.ranges())
        defer { server.stop() }
        Console.write("dashboard: http://\(server.address ?? address)")
        while !StopSignal.ofProcess.isRequested { Thread.sleep(forTimeInterval: Self.pollSeconds) }
    }

    /// The address of an option or the environment; nil if it is turned off.
    static func address(_ text: String?, option: String) throws -> ListenAddress? {
        let text = text ?? Environment()["WEIR_DASHBOARD"] ?? defaultAddress
        guard text != Environment.off else { return nil }
        guard let address = ListenAddress(text) else {
            throw CommandError.usage(
                "\(option) '\(text)' is not an address: write HOST:PORT, for example \(defaultAddress), or off"
            )
        }
        return address
    }

    /// Serves pages of stores. Addresses other than loopback ones require keys for signing in.
    ///
    /// - Parameters:
    ///   - trusted: proxies with a trusted `X-Forwarded-For`; nil for those of `collector.yaml`.
    ///   - failures: the failed services of this process.
    static func server(
        at address: ListenAddress, _ installation: Installation, trusted: [AddressRange]?,
        failures: @escaping @Sendable () -> [ServiceFailure] = { [] }
    ) throws -> DashboardServer {
        let isOpen = DashboardAccess.isLoopback(address.host)
        let directory = installation.pipelines
        let collector = directory.exists ? try directory.collector() : nil
        let keys = TokenKeys(collector?.tokenKeys ?? [])
        if !isOpen, keys.isEmpty {
            throw CommandError.failure(
                "dashboard: other machines can reach \(address), but \(directory.path)/collector.yaml has no token_keys for readers to sign in: create a key with weir token new-key --out FILE, or listen on 127.0.0.1"
            )
        }
        return try DashboardServer(
            at: address, source: installation,
            access: DashboardAccess(keys: keys, isOpen: isOpen),
            limits: collector?.limits ?? CollectorLimits(),
            trusted: trusted ?? collector?.trustedProxies ?? [],
            logger: Logger(label: "weir-dashboard"), failures: failures)
    }
}

/// The proxies in front of the dashboard.
struct TrustedProxyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Proxies in front of the dashboard: addresses or ranges, separated by commas (WEIR_TRUSTED_PROXIES; default: trusted_proxies of collector.yaml).",
            discussion: """
                Weir reads the reader's address from their X-Forwarded-For. It then counts connections, requests \
                and wrong tokens for each reader, not for each proxy.
                """,
            valueName: "range,..."))
    var trustedProxies: String?

    /// Nil when the option and the variable are not set.
    func ranges() throws(CommandError) -> [AddressRange]? {
        guard let text = trustedProxies ?? Environment()["WEIR_TRUSTED_PROXIES"] else { return nil }
        var ranges: [AddressRange] = []
        for part in text.split(separator: ",") {
            let name = part.trimmingCharacters(in: .whitespaces)
            guard let range = AddressRange(name) else {
                throw .usage(
                    "--trusted-proxies '\(name)' is not an address: write an address or a range, for example 10.0.0.0/8"
                )
            }
            ranges.append(range)
        }
        return ranges
    }
}
