package tributary.hdfs;

import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.MiniDFSCluster.DataNodeProperties;
import org.apache.hadoop.hdfs.MiniDFSNNTopology;
import org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider;

/**
 * A cluster of HDFS: two name nodes, of which the first is active, and three data nodes, in one process, on free ports of
 * 127.0.0.1. Argument: a folder for its data, and for the configuration that clients read (conf/core-site.xml, hdfs-site.xml).
 * It prints READY and the ports of the name nodes, then obeys the lines of its input, answers each with OK or an error,
 * and ends with its input.
 */
public final class Cluster {
    private static final String SERVICE = "lake";
    private static MiniDFSCluster cluster;
    private static DataNodeProperties stopped;

    public static void main(String[] args) {
        try {
            start(new File(args[0]).getAbsoluteFile());
            BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                try {
                    obey(line.split(" "));
                    System.out.println("OK");
                } catch (Exception e) {
                    System.out.println(e.toString().replace('\n', ' '));
                }
            }
            System.exit(0);
        } catch (Throwable t) {
            t.printStackTrace();
            System.exit(1); // half-started servers leave threads that keep the process alive
        }
    }

    private static void start(File dir) throws Exception {
        Configuration conf = new HdfsConfiguration();
        conf.setInt("dfs.replication", 2);
        conf.setInt("dfs.heartbeat.interval", 1);
        conf.setInt("dfs.namenode.heartbeat.recheck-interval", 1000);
        conf.setInt("dfs.namenode.safemode.extension", 0);
        conf.setInt("dfs.ha.tail-edits.period", 1);
        conf.setInt("dfs.ls.limit", 100);
        conf.setLong("dfs.namenode.fs-limits.min-block-size", 1024);
        conf.setBoolean("dfs.namenode.edits.noeditlogchannelflush", true);
        cluster = new MiniDFSCluster.Builder(conf, dir)
                .nnTopology(MiniDFSNNTopology.simpleHATopology())
                .numDataNodes(3)
                .build();
        cluster.waitActive();
        cluster.transitionToActive(0);
        try (FileSystem fs = cluster.getFileSystem(0)) {
            // Anybody may write at the top; permission checks below it stay on.
            fs.setPermission(new Path("/"), new FsPermission((short) 01777));
        }
        Configuration core = new Configuration(false);
        core.set("fs.defaultFS", "hdfs://" + SERVICE);
        Configuration site = new Configuration(false);
        site.set("dfs.nameservices", SERVICE);
        site.set("dfs.ha.namenodes." + SERVICE, "nn0,nn1");
        for (int i = 0; i < 2; i++) {
            site.set("dfs.namenode.rpc-address." + SERVICE + ".nn" + i, "127.0.0.1:" + cluster.getNameNodePort(i));
        }
        site.set("dfs.client.failover.proxy.provider." + SERVICE, ConfiguredFailoverProxyProvider.class.getName());
        site.set("dfs.replication", "2");
        File folder = new File(dir, "conf");
        folder.mkdirs();
        write(core, new File(folder, "core-site.xml"));
        write(site, new File(folder, "hdfs-site.xml"));
        System.out.println("READY " + cluster.getNameNodePort(0) + " " + cluster.getNameNodePort(1));
    }

    private static void write(Configuration conf, File to) throws Exception {
        try (OutputStream out = new FileOutputStream(to)) {
            conf.writeXml(out);
        }
    }

    private static void obey(String[] words) throws Exception {
        switch (words[0]) {
            case "failover": // the first name node becomes standby, the second active; or the other way round
                int active = cluster.getNameNode(0).isActiveState() ? 0 : 1;
                cluster.transitionToStandby(active);
                cluster.transitionToActive(1 - active);
                return;
            case "stop-data-node": // one of those that the last block of this file is written to
                int port = cluster.getNameNodeRpc(cluster.getNameNode(0).isActiveState() ? 0 : 1)
                        .getBlockLocations(words[1], 0, Long.MAX_VALUE).getLastLocatedBlock().getLocations()[0].getXferPort();
                for (int i = 0; i < cluster.getDataNodes().size(); i++) {
                    if (cluster.getDataNodes().get(i).getXferPort() == port) {
                        stopped = cluster.stopDataNode(i);
                        return;
                    }
                }
                throw new IllegalStateException("no data node listens on port " + port);
            case "start-data-node": // the one that was stopped last
                cluster.restartDataNode(stopped);
                cluster.waitActive();
                return;
            case "safe-mode":
                cluster.getNameNodeRpc(cluster.getNameNode(0).isActiveState() ? 0 : 1).setSafeMode(
                        org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction.valueOf("SAFEMODE_" + words[1]), false);
                return;
            default:
                throw new IllegalArgumentException("unknown order " + words[0]);
        }
    }

    private Cluster() {
    }
}
