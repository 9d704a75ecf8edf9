import Engine
import Streams

@main
enum WeirImpressions {
    static func main() {
        StreamWorker<ImpressionsFold>.start()
    }
}
