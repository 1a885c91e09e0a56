/*
 * inroot.c
 *		inroot ROOT PROGRAM: executes a program in a root of its own, as containers do.
 */
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
		mount(argv[1], argv[1], NULL, MS_BIND | MS_REC, NULL) != 0 || chdir(argv[1]) != 0 ||
		mkdir("old", 0755) != 0 || syscall(SYS_pivot_root, ".", "old") != 0 ||
		umount2("/old", MNT_DETACH) != 0 || chdir("/") != 0)
	{
		perror("inroot");
		return 1;
	}
	execl(argv[2], argv[2], "3600", NULL);
	perror("exec");
	return 1;
}
