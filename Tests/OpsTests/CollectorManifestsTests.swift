import Foundation
import Testing
import Yams

@Suite("What the collector is deployed with")
struct CollectorManifestsTests {
    private let ops = OpsDirectory()

    @Test("in the compose file it is published to this machine only, watched, and has a volume")
    func compose() throws {
        let compose = try ops.document("ops/compose.yaml")
        let service = try #require(compose["services"]?["weir-collector"])
        #expect(service.texts("ports") == ["127.0.0.1:8080:8080"])
        #expect(
            service.texts("command")
                == ["weir-collector", "--listen", "0.0.0.0:8080", "--metrics", "0.0.0.0:9464"])
        #expect(service.texts("volumes") == ["collector:/var/lib/weir"])
        #expect(compose["volumes"]?.mapping?.keys.contains("collector") == true)
        let check = try #require(service["healthcheck"])
        #expect(check.texts("test") == ["CMD", "weir-ready", "8080", "/readyz"])
        #expect(service["environment"] == compose["x-environment"], "its log is Kafka")
    }

    @Test("as a service it is as confined as a worker, and does not rest after failures")
    func service() throws {
        let collector = try directives("ops/systemd/weir-collector.service")
        let worker = try directives("ops/systemd/weir-worker@.service")
        let start = try #require(worker.firstIndex(of: "DynamicUser=yes"))
        let confinement = worker[start...]
        #expect(confinement.count > 20)
        #expect(Set(confinement).isSubset(of: collector))
        #expect(collector.contains("ExecStart=/usr/bin/weir-collector"))
        #expect(collector.contains("StateDirectory=weir/collector"))
        #expect(collector.contains("StartLimitIntervalSec=0"))
        #expect(collector.contains("Restart=on-failure"))
        let one = try directives("ops/systemd/weir.service")
        let started = try #require(confinement.firstIndex(of: "ProtectSystem=strict"))
        #expect(Set(confinement[started...]).isSubset(of: one), "weir up is as confined")
        #expect(one.contains("ExecStart=/usr/bin/weir up"))
        #expect(one.contains("User=weir") && one.contains("StateDirectory=weir/up"))
        #expect(try ops.text("ops/package").contains("ops/systemd/*.service"))
    }

    @Test("in Kubernetes it has a volume, its probes, and a Service that finds it")
    func kubernetes() throws {
        let set = try ops.document("ops/kubernetes/collector/statefulset.yaml")
        let container = try #require(set.values(ofKey: "containers").first?.sequence?.first)
        #expect(container.texts("command").first == "weir-collector")
        let ports = container["ports"]?.sequence?.compactMap { $0["name"]?.string }
        #expect(ports == ["http", "metrics"])
        for (probe, path) in [
            ("startupProbe", "/livez"), ("livenessProbe", "/livez"), ("readinessProbe", "/readyz"),
        ] {
            let request = try #require(container[probe]?["httpGet"], "\(probe)")
            #expect(request["path"]?.string == path)
            #expect(request["port"]?.string == "http")
        }
        let claims = try #require(set.values(ofKey: "volumeClaimTemplates").first?.sequence)
        #expect(claims.compactMap { $0["metadata"]?["name"]?.string } == ["data"])
        let mounts = try #require(container["volumeMounts"]?.sequence)
        #expect(
            mounts.contains {
                $0["name"]?.string == "data" && $0["mountPath"]?.string == "/var/lib/weir"
            })
        let volumes = set.values(ofKey: "volumes").flatMap { $0.sequence.map(Array.init) ?? [] }
        let declared = Set(
            (volumes + claims.compactMap { $0["metadata"] }).compactMap { $0["name"]?.string })
        #expect(Set(mounts.compactMap { $0["name"]?.string }) == declared)

        let services = try ops.documents("ops/kubernetes/collector/service.yaml")
        let names = services.compactMap { $0["metadata"]?["name"]?.string }
        #expect(names == ["weir-collector", "weir-collector-pods"])
        #expect(try names.contains(#require(set["spec"]?["serviceName"]?.string)))
        #expect(services[0].values(ofKey: "targetPort").compactMap(\.string) == ["http"])
    }

    @Test("somebody is told when it does not answer, refuses, or its log takes nothing")
    func alerts() throws {
        let rules = try ops.document("ops/prometheus/alerts.yml").values(ofKey: "rules")
            .flatMap { $0.sequence.map(Array.init) ?? [] }
        let named = rules.compactMap { $0["alert"]?.string }.filter {
            $0.hasPrefix("WeirCollector")
        }
        #expect(named == ["WeirCollectorDown", "WeirCollectorErrors", "WeirCollectorLogAway"])
        let tests = try ops.text("ops/prometheus/alerts.test.yml")
        let page = try ops.text("ops/runbooks/collector-refuses.md")
        for name in named {
            #expect(tests.contains("alertname: \(name)"), "\(name)")
            #expect(page.contains("`\(name)`"), "\(name)")
        }
    }

    private func directives(_ path: String) throws -> [String] {
        try ops.text(path).split(separator: "\n").map(String.init).filter {
            $0.contains("=") && !$0.hasPrefix("#")
        }
    }
}
